// Draws what is in sight: rectangles where there are few; else a picture of how full each core is in each bin of time,
// in the mean colour of its tasks, and above it those rectangles that are wide enough to be pointed at. Below, means
// over the same bins. All of it is made here, from the columns of the tasks: the page needs no server, and zooming ends
// at single tasks.

const BINS = 1000
const MOST = 10000 // rectangles that the canvas draws in a frame
const MOST_OUTLINED = 600, LEAST_OUTLINED = 6 // rectangles, and bins that they last: thinner ones would fade to white

let given = null, charts = null
let timer = 0

export default (args, obj) => {
  const others = args.charts !== given
  if (others) [given, charts] = [args.charts, args.charts.map(prepared)]
  if (others || obj === args.picker) choose(args)
  if (charts.some((chart) => chart.total > MOST)) {
    clearTimeout(timer)
    timer = setTimeout(() => draw(args), charts[0].drawn < 0 ? 0 : 80)
  } else if (!timer) {
    timer = requestAnimationFrame(() => { timer = 0; draw(args) })
  }
}

// The tasks, and what makes finding those in sight fast.
function prepared(chart) {
  const { start, length, team } = chart.tasks
  const { run } = chart.teams
  const latest = new Float64Array(start.length)
  let last = -Infinity, total = 0
  for (let i = 0; i < start.length; i++) {
    last = Math.max(last, start[i] + length[i])
    latest[i] = last
    total += run[team[i] + 1] - run[team[i]]
  }
  return { ...chart, latest, total, drawn: -1 }
}

function choose(args) {
  const { palette, legend } = args.rules[rule(args)]
  args.mapper.setv({ palette, low: -0.5, high: palette.length - 0.5 })
  args.legend.text = legend
}

const rule = (args) => args.picker.options.indexOf(args.picker.value)

function draw(args) {
  for (const chart of charts) {
    const { start: x0, end: x1 } = chart.range
    const [from, to] = between(chart, x0, x1)
    if (chart.total > MOST) aggregate(args, chart, from, to, x0, x1)
    else if (chart.drawn !== rule(args)) rectangles(args, chart, 0, chart.latest.length, -Infinity, 0)
    chart.drawn = rule(args)
    outline(chart, count(chart, from, to, x0, 0))
    for (const line of chart.lines) line.source.data = means(chart, line, x0, x1, args.range)
  }
  performance.mark("simsched drawn")
}

// First place in ascending numbers that is above a value.
function above(numbers, value) {
  let low = 0, high = numbers.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (numbers[middle] > value) high = middle
    else low = middle + 1
  }
  return low
}

// Places of the tasks from the first that reaches into sight to the last that begins in it.
const between = (chart, x0, x1) => [above(chart.latest, x0), above(chart.tasks.start, x1)]

// Rectangles in sight that last at least so long.
function count(chart, from, to, x0, least) {
  const { start, length, team } = chart.tasks
  const { run } = chart.teams
  let seen = 0
  for (let i = from; i < to; i++) {
    if (length[i] >= least && start[i] + length[i] >= x0) seen += run[team[i] + 1] - run[team[i]]
  }
  return seen
}

function aggregate(args, chart, from, to, x0, x1) {
  let least = 0
  while (count(chart, from, to, x0, least) > MOST) least = least ? 2 * least : (x1 - x0) / BINS
  if (least) picture(args, chart, from, to, x0, x1)
  if (chart.picture_renderer.visible !== least > 0) chart.picture_renderer.visible = least > 0
  rectangles(args, chart, from, to, x0, least)
}

// A thin white line tells neighbours of one colour apart, where there is room for it.
function outline(chart, seen) {
  const rows = chart.picture.data.image[0].length / BINS
  const value = seen <= MOST_OUTLINED && LEAST_OUTLINED * seen <= BINS * rows ? 1 : 0
  if (chart.glyph.line_alpha.value !== value) chart.glyph.line_alpha = { value }
}

function rectangles(args, chart, from, to, x0, least) {
  const { start, length, team } = chart.tasks
  const { run, first, rows } = chart.teams
  const colours = chart.tasks[`colour${rule(args)}`]
  const n = count(chart, from, to, x0, least)
  const [left, right, top, bottom, colour, at] = [0, 1, 2, 3, 4, 5].map(() => new Float64Array(n))
  for (let i = from, k = 0; k < n; i++) {
    if (length[i] < least || start[i] + length[i] < x0) continue
    for (let r = run[team[i]]; r < run[team[i] + 1]; r++, k++) {
      left[k] = start[i]
      right[k] = start[i] + length[i]
      top[k] = first[r] - 0.45
      bottom[k] = first[r] + rows[r] - 0.55
      colour[k] = colours[i]
      at[k] = i
    }
  }
  chart.rectangles.data = { left, right, top, bottom, colour, at }
}

// Adds what lasts from a to b, in bins, to the bins from a place on; `steps` are summed up later.
function add(parts, steps, place, a, b, amount) {
  a = Math.min(Math.max(a, 0), BINS)
  b = Math.min(Math.max(b, 0), BINS)
  const i = Math.min(Math.floor(a), BINS - 1), j = Math.min(Math.floor(b), BINS - 1)
  if (i === j) {
    parts[place + i] += amount * (b - a)
    return
  }
  parts[place + i] += amount * (i + 1 - a)
  parts[place + j] += amount * (b - j)
  steps[place + i + 1] += amount
  steps[place + j] -= amount
}

// The mean colour of each core and bin, white where it is idle.
function picture(args, chart, from, to, x0, x1) {
  const { start, length, team } = chart.tasks
  const { run, first, rows } = chart.teams
  const codes = chart.tasks[`colour${rule(args)}`]
  const image = chart.picture.data.image[0]
  const high = image.length / BINS, size = (high + 1) * BINS
  const lacks = args.rules[rule(args)].palette.map((c) => [1, 3, 5].map((k) => 255 - parseInt(c.slice(k, k + 2), 16)))
  const parts = lacks[0].map(() => new Float64Array(size)), steps = lacks[0].map(() => new Float64Array(size))
  const scale = BINS / (x1 - x0)
  for (let i = from; i < to; i++) {
    const a = (start[i] - x0) * scale, b = a + length[i] * scale
    if (b < 0) continue
    for (let r = run[team[i]]; r < run[team[i] + 1]; r++) {
      for (let c = 0; c < 3; c++) {
        const amount = lacks[codes[i]][c]
        add(parts[c], steps[c], first[r] * BINS, a, b, amount)
        add(parts[c], steps[c], (first[r] + rows[r]) * BINS, a, b, -amount)
      }
    }
  }
  fill(image, parts, steps)
  chart.picture.data = { image: [image], x: [x0], dw: [x1 - x0] }
}

// Sums up over rows, then over bins, into pixels.
function fill(image, parts, steps) {
  const pixels = new Uint8ClampedArray(image.buffer, image.byteOffset, 4 * image.length)
  for (let c = 0; c < 3; c++) {
    for (let k = BINS; k < image.length; k++) {
      parts[c][k] += parts[c][k - BINS]
      steps[c][k] += steps[c][k - BINS]
    }
    for (let k = 0, level = 0; k < image.length; k++) {
      level = k % BINS ? level + steps[c][k] : steps[c][k]
      pixels[4 * k + c] = 255 - parts[c][k] - level
    }
  }
  for (let k = 3; k < pixels.length; k += 4) pixels[k] = 255
}

// The mean of a line over each bin, as steps along the time that all panels share.
function means(chart, line, x0, x1, shared) {
  const { tasks, lost } = chart
  const parts = new Float64Array(BINS), steps = new Float64Array(BINS)
  const scale = BINS / (x1 - x0)
  const tally = (runs, from, to, waits, sign) => {
    const { start, length, wait, team } = runs
    const each = line.column && runs[line.column]
    if (line.column && !each) return
    for (let i = from; i < to; i++) {
      const begin = waits ? start[i] - wait[i] : start[i]
      const end = waits ? start[i] : start[i] + length[i]
      if (end < x0 || begin > x1) continue
      const amount = sign * line.factor * (each ? each[i] : 1) * (line.by_team ? line.by_team[team[i]] : 1)
      add(parts, steps, 0, (begin - x0) * scale, (end - x0) * scale, amount)
    }
  }
  // A task waits before it is in sight of the rectangles: all that begin later count, too.
  const [from, to] = line.waits ? [0, tasks.start.length] : between(chart, x0, x1)
  tally(tasks, from, to, line.waits, 1)
  // A task whose runs were aborted waits from when it was ready, except for these.
  tally(lost, 0, lost.start.length, false, line.waits ? -1 : 1)
  const x = new Float64Array(BINS + 1), y = new Float64Array(BINS + 1)
  for (let k = 0, level = 0; k < BINS; k++) {
    level += steps[k]
    x[k] = shared.start + k * (shared.end - shared.start) / BINS
    y[k] = Math.max(parts[k] + level, 0)
  }
  x[BINS] = shared.end
  y[BINS] = y[BINS - 1]
  return { x, y }
}
