"""Pages of the site as Markdown beside their HTML, and `llms.txt`, which lists them for programs."""

import re
from pathlib import Path

from sphinx.application import Sphinx

#: The form of llms.txt: a title, what it is about in a quotation, sections of links with a sentence each.
HEAD = """# structlearn

> A Python library and command-line tool for structured prediction: models whose outputs are label
> sequences, label sets, trees, matchings (word alignments), cuts and graphs. It trains structural SVMs,
> CRFs and Fenchel-Young losses, and ends every run with a certificate of optimality.

`structlearn --help --json` describes all commands.
"""


def write_sources(app: Sphinx, error: Exception | None) -> None:
    """Write what is said above, once the site is built."""
    if error or app.builder.format != "html":
        return
    lines = [HEAD, "## Pages", ""]
    for name in sorted(app.env.found_docs):
        source = Path(app.env.doc2path(name))
        if source.suffix != ".md":
            continue
        text = [source.read_text()]
        app.emit("source-read", name, text)
        written = Path(app.outdir, f"{name}.md")
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(text[0])
        lines.append(f"- [{app.env.titles[name].astext()}]({name}.md): {first_sentence(text[0])}")
    Path(app.outdir, "llms.txt").write_text("\n".join(lines) + "\n")


def first_sentence(text: str) -> str:
    """Return the first sentence of the first paragraph of a page, without its markup."""
    for paragraph in re.split(r"\n\s*\n", text):
        if re.match(r"(?!```)[A-Za-z*`\[]", paragraph):
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
            return re.split(r"(?<=[.!?:])\s", plain)[0].replace("**", "")
    return ""
