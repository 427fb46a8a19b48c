"""What the generator needs to read pages that GitHub shows too."""
import pathlib
import posixpath
import re

LINK = re.compile(r"\]\((?P<path>\.\.?/[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
FENCE = re.compile(r"^```(?P<language>\w+) (?P<word>\S+)$", re.MULTILINE)


def on_config(config):
    """A folder in nav is all of its pages, the index first."""
    root = pathlib.Path(config["docs_dir"])
    for entry in config["nav"]:
        for title, value in entry.items():
            if isinstance(value, str) and value.endswith("/"):
                found = sorted((root / value).glob("*.md"), key=lambda page: (page.name != "index.md", page.name))
                entry[title] = [str(page.relative_to(root)) for page in found]


def on_page_markdown(markdown, page, config, **_):
    folder = posixpath.dirname("docs/" + page.file.src_uri)

    def lead(link):
        """A link that leaves docs leads to the repository: the site holds no source."""
        path = posixpath.normpath(posixpath.join(folder, link["path"]))
        if path.startswith("docs/"):
            return link[0]
        return f"]({config['repo_url'].rstrip('/')}/blob/main/{path}{link['anchor'] or ''})"

    def title(fence):
        """A word behind a block's language is the name of a file, or the place of commands."""
        return f'```{fence["language"]} title="{fence["word"]}"'

    return FENCE.sub(title, LINK.sub(lead, markdown))
