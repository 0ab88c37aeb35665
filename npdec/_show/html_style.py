"""The style of what is shown in HTML, and whole pages. Colours follow the page: light, dark, or a notebook's theme."""

from __future__ import annotations

from html import escape as _escape

from npdec._show.words import visible

__all__ = ["block", "escape", "page"]

_CSS = """
.npdec{--npdec-up:#0072b2;--npdec-down:#d55e00;--npdec-line:rgba(128,128,128,.35);--npdec-track:rgba(128,128,128,.12);
font-family:system-ui,sans-serif;font-size:13px;line-height:1.45;
max-width:100%;margin:.3em 0 .9em;color:inherit;text-align:left}
.npdec *{box-sizing:border-box}
.npdec .head{margin:.2em 0}
.npdec .quiet{opacity:.75}
.npdec pre{margin:.3em 0;padding:.4em .6em;overflow:auto;max-height:22em;background:var(--npdec-track);color:inherit;
border-radius:4px;font-size:12px;line-height:1.35}
.npdec summary{cursor:pointer;margin:.3em 0}
.npdec .scroll{overflow:auto;max-height:30em;width:fit-content;max-width:100%}
.npdec table{border-collapse:collapse;margin:0;border:0;color:inherit;background:none;table-layout:auto;width:auto}
.npdec th,.npdec td{padding:2px 8px;border:0;border-top:1px solid var(--npdec-line);background:none;color:inherit;
white-space:nowrap;text-align:right;vertical-align:middle;font-variant-numeric:tabular-nums}
.npdec th{font-weight:600;border-top:0}
.npdec th.name,.npdec td.name{text-align:left;white-space:normal;overflow-wrap:anywhere;max-width:27em;min-width:4em}
.npdec td.sum{font-weight:600}
.npdec td.bar{padding:2px 4px;width:9.6em;min-width:5.6em}
@media (max-width:600px){.npdec td.bar{width:5.6em}.npdec th,.npdec td{padding:2px 6px}}
.npdec .track{position:relative;width:100%;min-width:5em;height:.95em;background:var(--npdec-track)}
.npdec .track i{position:absolute;top:0;bottom:0;display:block}
.npdec .track i.up{background:var(--npdec-up)}
.npdec .track i.down{background:var(--npdec-down)}
.npdec .track b{position:absolute;top:-1px;bottom:-1px;width:1px;background:currentColor;opacity:.6}
.npdec .words{line-height:2.1;margin:.4em 0;overflow-wrap:anywhere;font-size:15px}
.npdec .words span{padding:.15em .25em;border-radius:3px;margin:0 .05em;white-space:pre-wrap}
.npdec .key{display:inline-block;width:7em;height:.8em;vertical-align:middle;margin:0 .4em;border-radius:3px}
"""
# The same for pages that are dark by the system's setting, and for those of notebooks and sites that say so themselves.
_DARK = "--npdec-up:#56b4e9;--npdec-down:#e8853d"
_LIGHT = "--npdec-up:#0072b2;--npdec-down:#d55e00"
_THEMES = {
    _DARK: ('[data-jp-theme-light="false"]', '[data-theme="dark"]', ".vscode-dark", '[theme="dark"]'),
    _LIGHT: ('[data-jp-theme-light="true"]', '[data-theme="light"]', ".vscode-light"),
}
_CSS += f"@media (prefers-color-scheme:dark){{.npdec{{{_DARK}}}}}\n"
_CSS += "\n".join(
    f"{','.join(f'{name} .npdec' for name in names)}{{{colours}}}" for colours, names in reversed(_THEMES.items())
)


def escape(text: object) -> str:
    """The text as HTML shows it as it stands, control characters written out."""
    return _escape(visible(str(text)))


def block(body: str) -> str:
    """A piece of a page, with its style."""
    return f'<div class="npdec"><style>{_CSS}</style>{body}</div>'


def page(title: str, body: str) -> str:
    """A whole page, light or dark as the reader's system is."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title></head><body>{body}</body></html>\n"
    )
