// Shows the interactive chart; the still one stays where a browser cannot unpack it, and is what is printed.
const unpacked = async (name) => {
  const packed = Uint8Array.from(atob(document.getElementById(name).textContent), (letter) => letter.charCodeAt(0))
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text()
}
const show = async () => {
  const script = document.createElement("script")
  script.textContent = await unpacked("library")
  document.head.append(script)
  document.body.classList.add("live")
  await Bokeh.embed.embed_item(JSON.parse(await unpacked("data")))
}
if (window.DecompressionStream) show()
