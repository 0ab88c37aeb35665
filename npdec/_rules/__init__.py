"""The rules of torch's functions, by subject, and the dispatch that finds them."""
