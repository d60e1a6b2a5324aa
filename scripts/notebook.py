"""Executes the guide's notebook in a temporary folder: notebook.py [write]

`write` keeps what it printed in docs/guide/notebook.ipynb. Without it the notebook has to run, and to show what it shows there: the
simulator's figures are the same every time.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).resolve().parent.parent / "docs/guide/notebook.ipynb"


def main(words):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    shown = outputs(notebook)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["JUPYTER_PLATFORM_DIRS"] = "1"
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()
    notebook.metadata.language_info = {"name": "python"}
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = None
    if words == ["write"]:
        nbformat.write(notebook, NOTEBOOK)
    elif outputs(notebook) != shown:
        print("docs/guide/notebook.ipynb shows something else: scripts/python.sh notebook write", file=sys.stderr)
        return 1
    print(f"{len(notebook.cells)} cells of the notebook executed")
    return 0


def outputs(notebook):
    """What is printed, without what changes from run to run."""
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            texts.append(data.get("text/html", data.get("text/plain", output.get("text", ""))))
    return [re.sub(r"\s+", " ", text) for text in texts]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
