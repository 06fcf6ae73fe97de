// Leaves the wheel to the page around the charts, until the reader clicks a chart or holds Ctrl or Cmd: then it zooms.

{
  const ASKS = "Click the chart, or hold Ctrl or Cmd, to zoom with the wheel."
  const ZOOMS = "The wheel zooms. Press Escape, or click outside the chart, to scroll the page again."
  const chart = document.getElementById("chart"), line = document.createElement("p")
  const hint = document.createElement("div")
  let clicked = false, timer = 0

  const take = (zooms) => {
    clicked = zooms
    line.textContent = zooms ? ZOOMS : ASKS
    chart.style.outline = zooms ? "2px solid #0072b2" : ""
    hint.hidden = true
  }
  const inside = (event, what) => event.composedPath().some(what)
  const figure = (one) => one.classList?.contains("bk-Figure")

  // Beside the pointer: the line above a tall chart may be out of sight.
  const ask = ({ clientX, clientY }) => {
    hint.style.left = `${Math.max(Math.min(clientX - 150, innerWidth - 340), 0)}px`
    hint.style.top = `${clientY + 24}px`
    hint.hidden = false
    clearTimeout(timer)
    timer = setTimeout(() => { hint.hidden = true }, 1500)
  }

  line.setAttribute("role", "status")
  line.id = "wheel"
  line.style.cssText = "margin:.3rem 0;opacity:.75;font-size:.9em"
  hint.textContent = ASKS
  hint.id = "wheel-hint"
  hint.style.cssText = "position:fixed;z-index:2000;max-width:320px;pointer-events:none;padding:.3rem .6rem;" +
    "border-radius:4px;background:#222;color:#fff;font-size:.85rem"
  chart.before(line)
  document.body.append(hint)
  take(false)
  // On its way down, before the chart sees it.
  addEventListener("wheel", (event) => {
    if (clicked || event.ctrlKey || event.metaKey || !inside(event, figure)) return
    event.stopImmediatePropagation()
    ask(event)
  }, { capture: true, passive: true })
  addEventListener("pointerdown", (event) => {
    if (inside(event, figure)) take(true)
    else if (!inside(event, (one) => one === chart)) take(false)
  }, { capture: true })
  addEventListener("keydown", (event) => { if (event.key === "Escape") take(false) }, { capture: true })
  // Whoever clicks outside of a frame takes the focus from it.
  addEventListener("blur", () => take(false))
}
