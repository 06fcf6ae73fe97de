"""WfFormat: the workflow instances of WfCommons."""
