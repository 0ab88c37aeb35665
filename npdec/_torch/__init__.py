"""What of torch is private or patched, and what is asked of a trace."""
