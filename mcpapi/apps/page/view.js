// The view of one terminal in a chat: it speaks JSON-RPC with the host that shows it, by postMessage with its parent
// alone, and asks for one frame after the other. It reads, and it can do nothing else.

const LEAST = 1000    // milliseconds between the starts of two calls
const WAIT = 20000    // that the server waits for a frame
const SLACK = 15000   // that the host has for a call besides
const TRIES = 6       // failures in a row, after which the view waits for a person

const $ = id => document.getElementById(id)
const terminal = new Screen($('screen'), { most: 14, least: 4 })
const now = () => performance.now()
const pause = ms => new Promise(done => setTimeout(done, ms))

// ---------- the host

const asked = new Map() // what is asked of the host, by id
let lastID = 0

const post = message => parent.postMessage({ jsonrpc: '2.0', ...message }, '*')

// ask sends a request, and fails if there is no answer within so many milliseconds.
function ask(method, params, within) {
  const id = ++lastID
  return new Promise((done, fail) => {
    const timer = setTimeout(() => {
      asked.delete(id)
      fail(new Error('the host does not answer'))
    }, within)
    asked.set(id, m => {
      clearTimeout(timer)
      asked.delete(id)
      if (isObject(m.result)) done(m.result)
      else fail(new Error(isObject(m.error) && text(m.error.message) || 'the host refuses the call'))
    })
    post({ id, method, params })
  })
}

const isObject = v => typeof v === 'object' && v !== null && !Array.isArray(v)
const text = v => (typeof v === 'string' ? printable(v).slice(0, 1000) : '')

addEventListener('message', e => {
  // Other frames of the page may send here, too: only the host is heard.
  if (e.source !== parent || !isObject(e.data) || e.data.jsonrpc !== '2.0') return
  const m = e.data
  if (typeof m.method !== 'string') return asked.get(m.id)?.(m)
  const params = isObject(m.params) ? m.params : {}
  if (m.id === undefined) return told(m.method, params)
  if (m.method === 'ui/resource-teardown') over = true
  if (m.method === 'ui/resource-teardown' || m.method === 'ping') post({ id: m.id, result: {} })
  else post({ id: m.id, error: { code: -32601, message: 'this view has no such method' } })
})

function told(method, params) {
  switch (method) {
    case 'ui/notifications/tool-input': return input(isObject(params.arguments) ? params.arguments : {})
    case 'ui/notifications/tool-result': return result(params)
    case 'ui/notifications/tool-cancelled': if (!session) nothing(); return
    case 'ui/notifications/host-context-changed': return context(params)
  }
}

const prefers = matchMedia('(prefers-color-scheme: dark)')
let theme = '' // the host's; empty: the system's

function context(c) {
  if (c.theme === 'light' || c.theme === 'dark') theme = c.theme
  document.documentElement.classList.toggle('dark', theme ? theme === 'dark' : prefers.matches)
}
prefers.onchange = () => context({})

// The host chooses the width, and the terminal the height.
let height = -1
function resized() {
  const h = $('view').hidden ? 1 : Math.ceil($('view').getBoundingClientRect().height)
  if (h === height) return
  height = h
  post({ method: 'ui/notifications/size-changed', params: { width: innerWidth, height } })
}

// ---------- the call that the view belongs to

let call = {}    // its arguments
let session = '' // empty: not known yet
let over = false // no call follows

const opens = a => ['open', 'reopen', 'adopt'].includes(a.action)
const looks = a => ['read', 'write'].includes(a.action) && (['screen', 'png'].includes(a.format) ||
  ['since', 'rows', 'attrs', 'links', 'box', 'click', 'until_screen', 'until_stable_ms', 'until_cursor'].some(name => name in a))

// nothing takes up no room: the call shows no terminal.
function nothing() {
  over = true
  $('view').hidden = true
  resized()
}

function input(a) {
  call = a
  if (!opens(a) && !looks(a)) return nothing()
  if (typeof a.session_id === 'string') begin(a.session_id)
}

// result takes what the call has returned. A chat that is loaded again has it, but maybe no server any more: a screen in
// it is shown until a frame comes.
function result(r) {
  if (!opens(call) && !looks(call)) return
  const said = words(r)
  const o = reading(r)
  if (!frames) still(text0(o.chunk) || said)
  const id = o.session_id ?? (r.isError ? '' : said.match(/^\[([^\s\]]+)/)?.[1])
  if (!session && typeof id === 'string' && id) begin(id)
  if (!session) nothing()
}

const text0 = v => (typeof v === 'string' ? v : '')
const words = r => text0(Array.isArray(r.content) ? r.content.find(c => c?.type === 'text')?.text : '')

// reading returns the object that a result has, as structured content or as text.
function reading(r) {
  if (isObject(r.structuredContent)) return r.structuredContent
  try {
    const o = JSON.parse(words(r))
    return isObject(o) ? o : {}
  } catch { return {} }
}

// still draws the text form of a screen, if it is all of one.
function still(form) {
  const head = form.match(/^screen v\d+ (\d+)x(\d+)([^\n]*)/m)
  if (!head || / since /.test(head[3])) return
  const patch = { cols: +head[1], rows: +head[2], x: 0, y: 0, hidden: true, full: true, l: {} }
  let y = 0 // of the row above
  for (const [, number, row = '', like] of form.matchAll(/^(?: *(\d+)\|(?: (.*))?|\((\d+) rows? like it\).*)$/gm)) {
    if (number) patch.l[(y = +number) - 1] = [[row]]
    for (let n = Math.min(+like || 0, patch.rows - y); n > 0; n--, y++) patch.l[y] = patch.l[y - 1]
  }
  if (sound(patch)) terminal.apply(patch)
}

// ---------- frames

let since = 0   // the number of the frame that is drawn
let frames = 0  // that have come
let last = -LEAST
let running = false

function begin(id) {
  session = id
  $('name').textContent = text(id)
  follow()
}

function say(words, bad) {
  if ($('state').textContent !== words) $('state').textContent = words // a screen reader says it once
  $('state').className = bad ? 'bad' : ''
}

// What is not seen asks for nothing: a long chat has many views.
let seen = true
let wake = () => {}
new IntersectionObserver(all => {
  seen = all.some(e => e.isIntersecting)
  wake()
}).observe($('frame'))
document.addEventListener('visibilitychange', () => wake())
const watched = async () => {
  while (!over && (!seen || document.hidden)) await new Promise(done => { wake = done })
}

async function follow() {
  if (running || over || !ready) return
  running = true
  for (let failures = 0; !over;) {
    await watched()
    await pause(Math.max(0, last + LEAST - now()))
    if (over) break
    last = now()
    try {
      take(await ask('tools/call', {
        name: 'ptyctl_view', arguments: { session_id: session, since, wait_ms: WAIT },
      }, WAIT + SLACK))
      failures = 0
    } catch (err) {
      if (err.final || ++failures >= TRIES) {
        lost(err)
        break
      }
      say(`Not connected, tries again: ${err.message}`, true)
      await pause(LEAST * 2 ** failures)
    }
  }
  running = false
}

// take draws the answer to a call.
function take(r) {
  const o = reading(r)
  if (r.isError) {
    const code = o.error_code ?? words(r).match(/^\[error (\w+)/)?.[1]
    const err = new Error(text(o.message) || text(words(r)) || 'the call failed')
    err.final = ['NOT_FOUND', 'UNSUPPORTED', 'POLICY_DENIED', 'INVALID_ARGUMENT'].includes(code)
    throw err
  }
  if (o.session_id !== session || o.frame !== undefined && !sound(o.frame)) throw new Error('the answer cannot be read')
  $('name').textContent = text(`${o.user ? o.user + '@' : ''}${o.host ?? ''} · ${session}`)
  if (o.frame && !o.frame.full && (!frames || !terminal.content.length)) { // rows of a frame that is not here
    since = 0
    return
  }
  if (o.frame) {
    frames++
    terminal.apply(o.frame)
    $('title').textContent = text(o.frame.title)
    document.title = text(o.frame.title) || 'Terminal'
    $('frame').setAttribute('aria-label', `Terminal ${text(o.host)}, read-only`)
  }
  since = Number.isSafeInteger(o.version) && o.version > 0 ? o.version : 0
  over = o.ended === true
  if (over) say(`Ended${o.end ? `: ${text(o.end)}` : ''}. This is its last screen.`)
  else say(o.cut === true ? 'Live; the last rows had no room' : o.state === 'open' ? 'Live' : text(o.state))
}

// lost keeps the last frame, and says that it is one.
function lost(err) {
  say(`Not live: ${err.message}. ${terminal.rows.length || terminal.state ? 'This is the last screen that came.' : ''}`, true)
  $('again').hidden = false
}
$('again').onclick = () => {
  $('again').hidden = true
  follow()
}

// sound reports whether a patch is one: the renderer takes its word for the sizes.
function sound(p) {
  const number = (v, least, most) => Number.isInteger(v) && v >= least && v <= most
  return isObject(p) && isObject(p.l) && number(p.cols, 1, 1000) && number(p.rows, 1, 1000) &&
    number(p.x, 0, 1000) && number(p.y, 0, 1000) &&
    Object.entries(p.l).every(([y, runs]) => number(+y, 0, p.rows - 1) && Array.isArray(runs) && runs.length <= 1000 &&
      runs.every(run => Array.isArray(run) && typeof run[0] === 'string' && (run[1] === undefined || typeof run[1] === 'string') &&
        (run[2] === undefined || number(run[2], 0, 1000))))
}

// ---------- the start

let ready = false
async function start() {
  context({})
  try {
    const host = await ask('ui/initialize', {
      protocolVersion: '2026-01-26', appInfo: { name: 'ptyctl', title: 'ptyctl terminal', version: '1' },
      appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
    }, SLACK)
    if (isObject(host.hostContext)) context(host.hostContext)
  } catch (err) {
    return say(`Not connected: ${err.message}`, true)
  }
  ready = true
  post({ method: 'ui/notifications/initialized', params: {} })
  new ResizeObserver(resized).observe($('view'))
  resized()
  if (session) follow()
}
start()
