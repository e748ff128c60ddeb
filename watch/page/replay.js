import { Screen, printable } from './screen.js'

const $ = id => document.getElementById(id)

// A Player shows recordings. api fetches with the token, and lines reads a stream.
export class Player {
  constructor(api, lines) {
    Object.assign(this, { api, lines, at: 0, length: 0, markers: [], file: '' })
    this.screen = new Screen($('replay-screen'), { most: 15, least: 4 })
    $('play').onclick = () => (this.stop ? this.pause() : this.play())
    $('seek').oninput = () => this.seek(($('seek').value / 1000) * this.length)
    $('speed').onchange = () => this.stop && this.play()
    $('next').onclick = () => this.step(1)
    $('back').onclick = () => this.step(-1)
  }

  // list shows which recordings there are.
  async list(wanted) {
    this.close()
    $('player').hidden = true
    $('replay-name').textContent = 'Recordings'
    $('markers').replaceChildren()
    const all = await (await this.api('api/recordings')).json()
    const buttons = all.map(r => {
      const button = document.createElement('button')
      const size = r.bytes < 10240 ? `${r.bytes} B` : `${Math.round(r.bytes / 1024)} KiB`
      button.textContent = printable([new Date(r.started).toLocaleString(), r.session, r.host, size, r.problem || (r.complete ? '' : 'not complete')]
        .filter(Boolean).join(' · '))
      button.disabled = !!r.problem
      button.onclick = () => this.open(r.file).catch(err => button.append(`: ${err.message}`))
      return button
    })
    if (!buttons.length) buttons.push(document.createTextNode('There are no recordings.'))
    $('replay-list').replaceChildren(...buttons)
  }

  async open(file) {
    this.pause()
    const about = await (await this.api('api/recording?file=' + encodeURIComponent(file))).json()
    Object.assign(this, { file, length: about.length || 0.001, markers: about.markers })
    $('replay-name').textContent = printable([about.session, about.host, new Date(about.started).toLocaleString()].filter(Boolean).join(' · '))
    $('replay-list').replaceChildren()
    $('player').hidden = false
    $('marks').replaceChildren(...this.markers.slice(0, 1000).map(m => {
      const tick = document.createElement('i')
      tick.style.left = `${(m.t / this.length) * 100}%`
      return tick
    }))
    $('markers').replaceChildren(...this.markers.map(m => {
      const item = document.createElement('li')
      const button = document.createElement('button')
      button.textContent = printable(`${clock(m.t)}  ${m.text}`)
      button.onclick = () => this.seek(m.t)
      item.append(button)
      return item
    }))
    await this.seek(0)
    this.play()
  }

  async seek(t) {
    const plays = !!this.stop
    this.pause()
    this.at = Math.max(0, Math.min(t, this.length))
    if (plays) return this.play()
    await this.run(0)
  }

  step(n) {
    const times = this.markers.map(m => m.t)
    const to = n > 0 ? times.find(t => t > this.at + 0.01) : times.findLast(t => t < this.at - 0.3)
    if (to !== undefined) this.seek(to)
    else if (n < 0) this.seek(0)
  }

  play() {
    this.pause()
    if (this.at >= this.length - 0.01) this.at = 0
    $('play').textContent = 'Pause'
    this.run(Number($('speed').value))
  }

  pause() {
    this.stop?.abort()
    this.stop = null
    $('play').textContent = 'Play'
  }

  close() {
    this.pause()
    this.file = ''
  }

  async run(speed) {
    const stop = new AbortController()
    if (speed) this.stop = stop
    else {
      this.still?.abort()
      this.still = stop
    }
    try {
      const query = new URLSearchParams({ file: this.file, at: this.at, speed })
      for await (const line of this.lines('api/play?' + query, stop.signal)) {
        if (line.p) this.screen.apply(line.p)
        this.at = line.end ? this.length : line.t
        this.show()
      }
    } catch (err) {
      if (err.name !== 'AbortError') $('clock').textContent = err.message
    }
    if (this.stop === stop) this.pause()
  }

  show() {
    $('seek').value = Math.round((this.at / this.length) * 1000)
    $('clock').textContent = `${clock(this.at)} of ${clock(this.length)}`
    const last = this.markers.findLastIndex(m => m.t <= this.at + 0.01)
    if (last === this.last) return
    this.last = last
    for (const [i, item] of [...$('markers').children].entries()) item.firstChild.classList.toggle('now', i === last)
  }
}

function clock(t) {
  const tenths = Math.floor(t * 10)
  const s = Math.floor(tenths / 10)
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, '0')}.${tenths % 10}`
}
