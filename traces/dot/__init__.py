"""DOT, the text form of Graphviz: graphs in general, and the task dependency graphs of Nanos++."""
