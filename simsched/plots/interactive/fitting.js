// A time in the largest unit in which it is at least 1, as simsched.units has them.
const PER_S = { s: 1, ms: 1e3, "µs": 1e6, ns: 1e9 }
const fitting = (value, from) => {
  const seconds = Math.abs(value) / PER_S[from]
  return seconds ? Object.keys(PER_S).find((unit) => seconds * PER_S[unit] >= 1) ?? "ns" : "s"
}
const written = (value, from, to, digits) => `${+(value * (PER_S[to] / PER_S[from])).toPrecision(digits)} ${to}`
