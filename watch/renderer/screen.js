// A Screen draws what the server sends of a terminal: rows of [text, style, columns]. All text goes through textContent,
// so nothing that a terminal shows is ever markup, a link or a script here.

// printable shows characters that draw nothing, or turn text around, by their numbers.
export function printable(text) {
  return String(text).replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, c =>
    `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

let ratio = 0 // the width of a character per pixel of the font's size

function measure(near) {
  if (ratio) return ratio
  const probe = document.createElement('div')
  probe.className = 'screen'
  probe.style.position = 'absolute'
  probe.style.visibility = 'hidden'
  probe.style.fontSize = '100px'
  probe.textContent = 'M'.repeat(50)
  near.append(probe)
  ratio = probe.getBoundingClientRect().width / 5000
  probe.remove()
  return ratio || 0.6
}

// color returns the CSS colour of a word of a style: a number of the palette, or #rrggbb.
function color(word) {
  if (/^#[0-9a-f]{6}$/.test(word)) return word
  const n = Number(word)
  if (n < 16) return `var(--c${n})`
  if (n >= 232) return `rgb(${Array(3).fill(8 + (n - 232) * 10).join(' ')})`
  const part = v => (v ? 55 + v * 40 : 0)
  const m = n - 16
  return `rgb(${part(Math.floor(m / 36))} ${part(Math.floor(m / 6) % 6)} ${part(m % 6)})`
}

// dress gives a span the style that the words say.
function dress(span, words) {
  let fg = '', bg = '', reverse = false
  for (const word of words.split(' ')) {
    switch (word[0]) {
      case 'F': fg = color(word.slice(1)); break
      case 'B': bg = color(word.slice(1)); break
      case 'L': span.style.textDecorationColor = color(word.slice(1)); break
      case 'r': reverse = true; break
      case 'u': span.classList.add('u', 'u' + Number(word.slice(1))); break
      case 'b': case 'f': case 'i': case 's': case 'o': span.classList.add(word); break
    }
  }
  if (reverse) [fg, bg] = [bg || 'var(--tb)', fg || 'var(--tf)']
  if (fg) span.style.color = fg
  if (bg) span.style.backgroundColor = bg
}

export class Screen {
  constructor(element, { most = 16, least = 2, both = false } = {}) {
    this.element = element
    Object.assign(this, { most, least, both })
    this.rows = []      // elements
    this.content = []   // what they show
    this.dirty = new Set()
    this.cols = 0
    this.cursor = document.createElement('div')
    this.cursor.className = 'cursor'
    element.replaceChildren(this.cursor)
    new ResizeObserver(() => this.fit()).observe(element.parentElement)
  }

  // apply takes a patch. It is drawn with the browser's next frame, so that a browser that is behind draws the newest
  // one alone.
  apply(patch) {
    if (patch.full) {
      this.content = Array.from({ length: patch.rows }, () => [])
      for (let y = 0; y < patch.rows; y++) this.dirty.add(y)
    }
    for (const [y, runs] of Object.entries(patch.l)) {
      this.content[y] = runs
      this.dirty.add(Number(y))
    }
    this.state = patch
    if (!this.asked) {
      this.asked = true
      requestAnimationFrame(() => this.draw())
    }
  }

  draw() {
    this.asked = false
    const { cols, rows } = this.state
    while (this.rows.length > rows) this.rows.pop().remove()
    while (this.rows.length < rows) {
      const row = document.createElement('div')
      row.className = 'row'
      this.element.insertBefore(row, this.cursor)
      this.rows.push(row)
    }
    for (const y of this.dirty) if (y < rows) this.drawRow(y)
    this.dirty.clear()
    this.element.classList.toggle('reverse', !!this.state.reverse)
    const { x, y, hidden, shape } = this.state
    this.cursor.hidden = !!hidden
    this.cursor.className = 'cursor' + (shape >= 5 ? ' bar' : shape >= 3 ? ' under' : '')
    this.cursor.style.left = `${Math.min(x, cols - 1)}ch`
    this.cursor.style.top = `${y * 1.2}em`
    if (this.cols !== cols || this.lines !== rows) {
      this.cols = cols
      this.lines = rows
      this.fit()
    }
    this.element.dispatchEvent(new Event('drawn'))
  }

  drawRow(y) {
    const spans = this.content[y].map(([text, words, columns]) => {
      if (!words && !columns) return document.createTextNode(text)
      const span = document.createElement('span')
      span.textContent = text
      if (words) dress(span, words)
      if (columns) {
        span.classList.add('w')
        span.style.width = `${columns}ch`
      }
      return span
    })
    this.rows[y].replaceChildren(...spans)
  }

  // fit chooses the size of the font with which the terminal fits into its frame.
  fit() {
    if (!this.cols) return
    const frame = this.element.parentElement
    const style = getComputedStyle(frame)
    const width = frame.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight)
    let size = width / (this.cols * measure(frame))
    if (this.both) {
      const height = frame.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom)
      size = Math.min(size, height / (this.lines * 1.2))
    }
    size = Math.max(this.least, Math.min(this.most, Math.floor(size * 20) / 20))
    if (width > 0) this.element.style.fontSize = `${size}px`
    this.element.style.minWidth = `${this.cols}ch`
  }

  // text returns what is shown.
  text() {
    return this.content.map(runs => runs.map(run => run[0]).join('')).join('\n')
  }
}
