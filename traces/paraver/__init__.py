"""Paraver traces of OmpSs programs, as Extrae writes them for Nanos++ and Nanos6."""
