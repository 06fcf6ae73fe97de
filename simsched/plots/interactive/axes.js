// Keeps the charts' own time axes in step with the one that buttons and panels share, which counts percent of each run,
// or, when one axis is for all, the time of the longest.

let busy = false

export default (args, changed) => {
  if (busy) return
  busy = true
  if (changed === args.choice) choose(args)
  const chart = args.ranges.indexOf(changed)
  if (chart >= 0) args.shared.setv(times(changed, 1 / scale(args, chart)))
  args.ranges.forEach((range, k) => { if (k !== chart) range.setv(times(args.shared, scale(args, k))) })
  busy = false
}

const each = (args) => args.choice.value === args.each
const times = ({ start, end }, factor) => ({ start: start * factor, end: end * factor })

// Units of a chart for one of the shared axis.
function scale({ per_s, ends, longest, ...args }, k) {
  return each(args) ? ends[k] / 100 : per_s[k] / per_s[longest]
}

function choose(args) {
  const whole = each(args) ? 100 : args.ends[args.longest]
  wide(args.shared, whole)
  args.ranges.forEach((range, k) => wide(range, whole * scale(args, k)))
  args.draw.args.time = each(args) ? "%" : args.unit
  args.axis.axis_label = each(args) ? "% of each run" : `time (${args.unit})`
}

function wide(range, end) {
  range.setv({ bounds: [-0.02 * end, 1.02 * end], min_interval: end * 1e-9, reset_end: end, start: 0, end })
}
