// Says one thing of the line under the pointer: a mean, or when.
const { time } = draw.args
switch (format) {
  case "time": return time === "%" ? `${+value.toPrecision(4)} % of each run` : written(value, time, fitting(value, time), 6)
  default: return `${+value.toPrecision(4)}`
}
