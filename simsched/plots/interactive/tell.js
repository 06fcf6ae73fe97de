// Says one thing of the task under the pointer; bokeh escapes what is returned.
const { tasks, unit, parts, reasons } = draw.args.charts[chart]
const texts = draw.args.texts[draw.args.charts[chart].texts]
const time = (value, digits = 4) => written(value, unit, fitting(value, unit), digits)
const name = (task, kind) => {
  if (!texts.names) return `${kind || "task"} ${task}`
  return new TextDecoder().decode(texts.names.slice(texts.name_at[task], texts.name_at[task + 1]))
}
const short = (text) => text.length > 80 ? `${text.slice(0, 79)}…` : text
const kind = texts.kinds[tasks.kind[value]]
switch (format) {
  case "name": return short(name(tasks.task[value], kind))
  case "kind": return short(kind) || "unknown"
  case "shape": return short(texts.shapes[tasks.shape[value]]) || "unknown"
  case "scope": return short(texts.scopes[tasks.scope[value]]) || "none"
  case "time": {
    const start = tasks.start[value], length = tasks.length[value]
    const end = start + length, along = fitting(end, unit)
    return `${written(start, unit, along, 8)} to ${written(end, unit, along, 8)}: ${time(length)}`
  }
  case "where": {
    const width = draw.args.charts[chart].teams.width[tasks.team[value]]
    return `${width} ${width === 1 ? "core" : "cores"}, executor ${tasks.executor[value]}`
  }
  case "why": {
    const before = tasks.depends_on[value], reason = reasons[tasks.reason[value]]
    const ready = before < 0 ? "it waited for no task" : `after ${texts.names ? short(name(before)) : `task ${before}`}`
    return ready + (tasks.wait[value] > 0 ? `, then mostly: ${reason}` : "; it started at once")
  }
  // In a line of its own: a wide tooltip has no room beside the pointer.
  default: {
    const waited = parts.filter(([part]) => tasks[part] && tasks[part][value] > 0)
    return waited.map(([part, words]) => `${time(tasks[part][value], 3)} ${words}`).join(", ") || "not at all"
  }
}
