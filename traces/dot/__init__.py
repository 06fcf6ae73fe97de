"""DOT, the text form of Graphviz: graphs in general, and the task dependence graphs of Nanos++."""
