// Puts other schedules in the place of the one on this page, as frames beside this one bring them: messengers, each
// with one schedule. They and this page find each other by a key; a messenger's own number says which is the latest.

const { key, item, ...first } = JSON.parse(document.getElementById("data").textContent)
let shown = 0, { per_s } = first

// The window in seconds stays where the reader has zoomed in; else the whole run is in sight, and that of the base.
function along(range, span, scale) {
  const { start, end, reset_end } = range
  const whole = start <= 0 && end >= reset_end
  const [from, to] = [start * scale, Math.min(end * scale, span)]
  const view = whole || from >= to ? { start: 0, end: span } : { start: from, end: to }
  range.setv({ bounds: [-0.02 * span, 1.02 * span], min_interval: span * 1e-9, reset_end: span, ...view })
}

function beside(model, { height, rows, time }) {
  const n = rows.n, figure = model("chart 0"), picture = model("picture pixels 0"), [image] = picture.data.image
  model("row centres 0").ticks = rows.centres
  model("row names 0").args = { centres: rows.centres, names: rows.names }
  model("row borders 0").ticks = rows.borders
  figure.left[0].axis_label = rows.label
  figure.below[0].axis_label = `time (${time})`
  figure.y_range.setv({ start: n - 0.5, end: -0.5, bounds: [-0.5, n - 0.5] })
  if (image.shape[0] !== n) {
    picture.data = { ...picture.data, image: [new image.constructor(n * image.shape[1], [n, image.shape[1]])] }
    model("picture 0").glyph.dh = { value: n }
    figure.height = height
  }
}

function show(model, news) {
  const draw = model("draw"), [chart] = draw.args.charts, range = model("time")
  const lines = chart.lines.map((line) => ({ ...line, by_team: line.by_team && news.chart.teams.width }))
  // In place: a change of the property would load the script anew, with all it keeps.
  draw.args.charts = [{ ...chart, ...news.chart, lines }]
  draw.args.texts = [news.texts]
  draw.args.time = news.time
  draw.args.rules = news.rules
  model("title 0").text = news.title
  model("aborted 0").data = news.chart.aborted
  model("traffic").visible = "demand" in news.chart.tasks
  model("base").setv({ location: news.base, visible: news.apart })
  beside(model, news)
  along(range, news.span, news.per_s / per_s)
  per_s = news.per_s
  draw.execute(range)
}

// JSON, in which an array is its type, first byte and number of values among the bytes behind it.
async function unpacked(packed) {
  const text = atob(packed), bytes = new Uint8Array(text.length)
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i)
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))
  const buffer = await new Response(stream).arrayBuffer()
  const [long] = new Uint32Array(buffer, 0, 1)
  const types = { Uint8Array, Uint16Array, Int32Array, Float32Array, Float64Array }
  const told = new TextDecoder().decode(new Uint8Array(buffer, 8, long))
  const array = ({ array, at, n }) => new types[array](buffer, 8 + long + at, n)
  return JSON.parse(told, (_, each) => each?.array ? array(each) : each)
}

async function bring(model, number, packed) {
  shown = number
  const news = await unpacked(packed)
  if (shown === number) show(model, news)
}

const views = await Bokeh.embed.embed_item(item)
const model = (name) => views.roots[0].model.document.get_model_by_name(name)
addEventListener("message", ({ data, source }) => {
  if (data === `${key} tells`) source?.postMessage(`${key} asks`, "*")
  else if (data?.key === key && data.number > shown) bring(model, data.number, data.packed)
})
// A messenger that came first has told before anyone was here to listen.
for (let i = 0; i < parent.length; i++) parent[i].postMessage(`${key} asks`, "*")
