"""One model of a document, and its renderers: HTML page, Markdown, terminal."""
