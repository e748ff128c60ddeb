import { Screen, printable } from './screen.js'
import { Player } from './replay.js'

const $ = id => document.getElementById(id)
const sessions = new Map()  // by process and id
const processes = new Map() // by their name: what they allow
let token = ''              // in this variable alone
let open = null             // the session that is shown large
let hold = null             // the terminal that was taken: {id, key}
let player = null
let byToken = false         // a person logs in with a token, and not by a link

// The link has the ticket behind its #, which no server sees. It is taken off the address at once.
const link = new URLSearchParams(location.hash.slice(1))
history.replaceState(null, '', location.pathname)

// ---------- requests

async function api(path, body, options = {}) {
  const headers = options.as ?? token ? { Authorization: 'Bearer ' + (options.as ?? token) } : {}
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  const answer = await fetch(path, {
    method: body === undefined ? 'GET' : 'POST', headers, body: body === undefined ? undefined : JSON.stringify(body),
    credentials: 'omit', cache: 'no-store', referrerPolicy: 'no-referrer', ...options,
  })
  if (answer.ok) return answer
  let error = { message: `${answer.status} ${answer.statusText}` }
  try {
    const said = await answer.json()
    error = said.error ?? said // the HTTP server's own refusals have the form of MCP
  } catch { /* no JSON */ }
  throw Object.assign(new Error(error.message), { code: error.error_code, status: answer.status })
}

// lines reads a stream of JSON, one object a line.
async function* lines(path, signal) {
  const answer = await api(path, undefined, { signal })
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const parts = (rest + value).split('\n')
    rest = parts.pop()
    for (const part of parts) yield JSON.parse(part)
  }
}

function notice(text) {
  $('notice').textContent = text || ''
  $('notice').hidden = !text
}

// ---------- what the processes stream

class Session {
  constructor(p, id) {
    Object.assign(this, { p, id, key: `${p}/${id}`, info: null, calls: new Map(), title: '' })
    this.tile = element('div', 'tile')
    this.tile.tabIndex = 0
    this.tile.setAttribute('role', 'button')
    this.tile.onclick = () => show(this)
    this.tile.onkeydown = e => { if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); show(this) } }
    this.dot = element('span', 'dot')
    this.name = element('span', 'name')
    this.badge = element('span', 'badge')
    const head = element('div', 'head')
    head.append(this.dot, this.name, this.badge)
    this.body = element('div', 'body')
    this.body.append(element('div', 'screen'))
    this.list = element('ol')
    this.list.hidden = true
    this.body.append(this.list)
    this.tile.append(head, this.body)
    $('tiles').append(this.tile)
    this.screen = new Screen(this.body.firstChild, { most: 12, least: 2, both: true })
  }

  // byCalls reports whether the tile shows the calls: nothing was typed, so the terminal shows no more than a prompt.
  get byCalls() {
    return this.info && (!this.info.pty || !this.info.typed) && [...this.calls.values()].some(c => c.verb !== 'state' && c.verb !== 'open')
  }

  update(info) {
    const before = this.info
    this.info = info
    this.tile.classList.toggle('over', ended(info))
    this.dot.className = 'dot ' + (info.asks ? 'asks' : info.state)
    this.name.textContent = printable(nameOf(info))
    this.tile.setAttribute('aria-label', `${nameOf(info)}, ${stateOf(info)}`)
    holderBadge(this.badge, info)
    if (!this.badge.textContent && info.state !== 'open') this.badge.textContent = info.state
    this.drawTile()
    if (info.asks && before?.asks?.text !== info.asks.text && !(info.asks.login && asked.has(this.p))) {
      tell(`${nameOf(info)} seems to ask (${info.asks.kind})`, this.key)
    }
    if (before && !ended(before) && ended(info)) tell(`${nameOf(info)} has ended`, this.key)
  }

  drawTile() {
    const calls = this.byCalls
    this.screen.element.hidden = !!calls
    this.list.hidden = !calls
    if (calls) this.list.replaceChildren(...[...this.calls.values()].slice(-4).map(c => callItem(c, true)))
  }

  add(list) {
    for (const c of list) this.calls.set(c.n, c)
    while (this.calls.size > 12) this.calls.delete(this.calls.keys().next().value)
    this.drawTile()
  }

  remove() {
    this.tile.remove()
    sessions.delete(this.key)
    if (open?.session === this) home()
  }
}

function element(name, className, text) {
  const e = document.createElement(name)
  if (className) e.className = className
  if (text !== undefined) e.textContent = printable(text)
  return e
}

const ended = info => info.state === 'closed' || info.state === 'error'
const nameOf = info => `${info.user ? info.user + '@' : ''}${info.host} · ${info.id}`
const stateOf = info => (info.asks ? 'asks' : info.end ? `${info.state}: ${info.end}` : info.state)

function holderBadge(badge, info) {
  const free = !info.holder || info.expires < Date.now()
  badge.textContent = free ? '' : 'held by ' + info.holder
  badge.className = 'badge' + (info.person && !free ? ' good' : '')
}

let sweep = 0

// forget removes the sessions that a new stream has not shown.
function forget() {
  for (const s of [...sessions.values()]) if (s.stale) s.remove()
  questions()
  overview()
}

async function follow() {
  for (let wait = 500; ; wait = Math.min(wait * 2, 8000)) {
    try {
      for (const s of sessions.values()) s.stale = true
      processes.clear()
      sweep = setTimeout(forget, 3000)
      for await (const line of lines('api/stream')) {
        wait = 500
        take(line)
      }
      linked('the processes are gone; looking for others', true)
    } catch (err) {
      if (err.status === 401) return lost()
      linked(err.message, true)
      if (err.status) forget() // the processes are gone, and not the server
    }
    clearTimeout(sweep)
    await new Promise(done => setTimeout(done, wait))
  }
}

function linked(text, bad) {
  $('link').textContent = text
  $('link').className = 'badge' + (bad ? ' bad' : '')
}

// running removes what was of processes that have ended. keys are those that run.
function running(keys) {
  const ended = p => !keys.includes(p)
  for (const p of [...processes.keys(), ...asked.keys()]) if (ended(p)) { processes.delete(p); asked.delete(p) }
  for (const s of [...sessions.values()]) if (ended(s.p)) s.remove()
  linked('')
  mode()
  questions()
  overview()
}

function take(line) {
  if (line.all) return running(line.all)
  if (line.questions) {
    asked.set(line.p, line.questions.questions)
    for (const q of line.questions.questions) {
      const key = `${line.p}\n${q.question_id}`
      if (!told.has(key)) tell(`${q.user ? q.user + '@' : ''}${q.host || 'this machine'} asks (${q.kind})`, key)
      told.add(key)
    }
    return questions()
  }
  if (line.down !== undefined) {
    notice(`${line.p}: ${line.down}`)
    return overview()
  }
  const m = line.m
  if (m.hello) {
    processes.set(line.p, m.hello)
    notice('')
    linked('')
    mode()
  } else if (m.session) {
    const key = `${line.p}/${m.session.id}`
    let s = sessions.get(key)
    if (!s) {
      s = new Session(line.p, m.session.id)
      sessions.set(key, s)
    }
    s.stale = false
    s.update(m.session)
    questions()
    if (link.get('session') === s.id) {
      link.delete('session')
      show(s)
    }
  } else if (m.screen) {
    sessions.get(`${line.p}/${m.screen.s}`)?.screen.apply(m.screen.p)
  } else if (m.calls) {
    sessions.get(`${line.p}/${m.calls.s}`)?.add(m.calls.list)
  } else if (m.gone) {
    sessions.get(`${line.p}/${m.gone}`)?.remove()
    questions()
  }
  overview()
}

function mode() {
  const modes = [...processes.values()].map(h => h.mode)
  const only = modes.length > 0 && modes.every(m => m !== 'readwrite')
  $('mode').textContent = only ? 'watch only' : modes.length ? 'may step in' : ''
  $('mode').title = only ? readOnlyHint : 'You may take a terminal over, and answer'
}

let readOnlyHint = 'This ptyctl lets people watch only. To step in, start it with --control-mode readwrite, or set server.control.control_mode = "readwrite".'
const writable = p => processes.get(p)?.mode === 'readwrite'

function overview() {
  $('empty').hidden = sessions.size > 0 || !$('one').hidden || !$('replay').hidden
  $('empty').textContent = processes.size ? 'No session is open.' : 'No ptyctl runs.'
}

// ---------- questions

const asked = new Map()         // by process: its list; none: it has no list
const told = new Set()          // what is asked, and a notice was given of
const questionItems = new Map() // by what is asked, so that a half-typed answer stays

// wanted returns what is asked now: the lists of the processes, and terminals that seem to ask.
function wanted() {
  const all = new Map()
  for (const [p, list] of asked) {
    if (!processes.has(p)) continue
    for (const q of list) all.set(`${p}\n${q.question_id}`, () => listed(p, q))
  }
  for (const s of sessions.values()) {
    const q = s.info?.asks
    if (!q || (q.login && asked.has(s.p))) continue
    all.set(`${s.key}\n${q.kind}\n${q.text}`, () => (q.login ? login(s, q) : seen(s, q)))
  }
  return all
}

function questions() {
  const all = wanted()
  for (const [key, item] of questionItems) {
    if (!all.has(key)) {
      item.remove()
      questionItems.delete(key)
    }
  }
  for (const [key, make] of all) {
    if (questionItems.has(key)) continue
    const item = make()
    questionItems.set(key, item)
    $('questions').append(item)
  }
}

// card is a question with what is asked, and the steps that a person may take if they may do more than watch.
function card(p, title, text, ...steps) {
  const item = element('div', 'question')
  item.append(element('div', '', title), element('div', 'text', text))
  const bar = element('div', 'bar')
  if (writable(p)) bar.append(...steps)
  else bar.append(element('span', 'hint', readOnlyHint))
  item.append(bar)
  return item
}

// step is a button that sends an answer.
function step(text, className, send) {
  const button = element('button', className, text)
  button.type = 'button'
  button.onclick = async () => {
    button.disabled = true
    try { await send() } catch (err) {
      button.disabled = false
      button.after(element('span', 'hint', err.message))
    }
  }
  return button
}

// field is a form with one line.
function field(hidden, send) {
  const form = element('form', 'bar')
  const input = element('input')
  input.type = hidden ? 'password' : 'text'
  input.autocomplete = 'off'
  input.setAttribute('aria-label', 'Answer')
  const said = element('span', 'hint')
  form.append(input, element('button', 'main', 'Answer'), said)
  form.onsubmit = async e => {
    e.preventDefault()
    const text = input.value
    input.value = ''
    try { await send(text) } catch (err) { said.textContent = err.message }
  }
  return form
}

// seen is a question that a terminal seems to ask, by its last line.
function seen(s, q) {
  const look = element('button', '', 'Show it')
  look.onclick = () => show(s)
  return card(s.p, `${nameOf(s.info)} seems to ask (${q.kind})`, q.text, look)
}

// login is a question of a login, of a process that has no list.
function login(s, q) {
  return card(s.p, `${q.who || nameOf(s.info)} asks (${q.kind})`, q.text,
    field(!q.echo, text => api('api/answer', { p: s.p, session: s.id, text })))
}

// listed is a question of a process's list: a call that needs consent, or a question of a login.
function listed(p, q) {
  const send = answer => api('api/question', { p, answer: { question_id: q.question_id, ...answer } })
  const where = `${q.user ? q.user + '@' : ''}${q.host || 'this machine'}`
  const call = q.kind === 'consent' || q.kind === 'secret'
  if (call) {
    const by = [q.asker.client, q.asker.task_id].filter(Boolean).join(' / ') || 'A program'
    const item = card(p, `${by} asks to ${q.secret ? `use the secret ${q.secret} (${q.action})` : q.typed ? 'type' : q.action || 'run'} on ${where}${q.session_id ? ` (${q.session_id})` : ''}`, q.text,
      q.answer === 'secret' ? field(true, text => send({ text })) : step(q.lasting ? 'Allow from now on' : 'Allow once', 'main', () => send({ yes: true })),
      step('Deny', '', () => send({ decline: true })))
    const more = [q.rule && `rule: ${q.rule}`, q.work_dir && `in ${q.work_dir}`, ...(q.env || []), q.lasting && `also all later uses of this caller ${q.session_id ? 'in this session' : 'there'}`, q.waits ? '' : 'no call waits: the answer is for the same call made again']
    item.append(element('div', 'hint', more.filter(Boolean).join(' · ')))
    return item
  }
  const steps = q.answer === 'yes_no'
    ? [step('Yes', 'main', () => send({ yes: true })), step('No', '', () => send({ yes: false }))]
    : [field(q.answer === 'secret', text => send({ text }))]
  return card(p, `${where} asks (${q.secret ? `secret ${q.secret}` : q.kind})`, q.text, ...steps, step('End the login', '', () => send({ decline: true })))
}

// ---------- one session

function home() {
  close()
  player?.close()
  $('replay').hidden = true
  $('tiles').hidden = false
  overview()
}

function close() {
  if (hold) give()
  open?.stop.abort()
  open = null
  $('one').hidden = true
}

function show(s) {
  if (open?.session === s) return
  close()
  player?.close()
  $('replay').hidden = true
  $('tiles').hidden = true
  $('empty').hidden = true
  $('one').hidden = false
  $('found').hidden = true
  $('calls').replaceChildren()
  const screen = $('one-screen')
  const fresh = element('div', 'screen')
  fresh.id = screen.id
  screen.replaceWith(fresh)
  open = { session: s, screen: new Screen(fresh, { most: 16, least: 5 }), stop: new AbortController(), items: new Map() }
  followOne(open)
  drawOne()
  scrollTo(0, 0)
}

async function followOne(one) {
  const s = one.session
  const query = new URLSearchParams({ p: s.p, session: s.id })
  while (!one.stop.signal.aborted) {
    try {
      for await (const line of lines('api/stream?' + query, one.stop.signal)) {
        const m = line.m || {}
        if (m.session) {
          s.update(m.session)
          drawOne()
        }
        if (m.screen) {
          one.screen.apply(m.screen.p)
          $('one-title').textContent = printable(m.screen.p.title || '')
        }
        if (m.calls) for (const c of m.calls.list) addCall(one, c)
      }
    } catch (err) {
      if (one.stop.signal.aborted) return
    }
    await new Promise(done => setTimeout(done, 1000))
  }
}

function drawOne() {
  const s = open?.session
  if (!s?.info) return
  const info = s.info
  $('one-name').textContent = nameOf(info)
  $('one-state').textContent = stateOf(info)
  $('one-state').className = 'badge' + (info.asks ? ' warn' : ended(info) ? ' bad' : '')
  const mine = hold?.key === s.key
  if (mine) {
    $('one-holder').textContent = 'the agent is kept out: you type'
    $('one-holder').className = 'badge good'
  } else holderBadge($('one-holder'), info)
  $('one-frame').classList.toggle('mine', mine)
  for (const id of ['give', 'typing', 'secret', 'keys']) $(id).hidden = !mine
  $('take').hidden = mine
  $('take').disabled = !writable(s.p) || info.state !== 'open' || !info.pty
  $('hint').textContent = mine
    ? 'Keys go to the terminal. Ctrl-] gives it back. What you type is not recorded; its echo is, as all output. Use the field for passwords.'
    : !writable(s.p) ? readOnlyHint : ended(info) ? 'The session has ended.' : ''
}

// ---------- calls

const verbs = {
  open: 'opened', write: 'typed', answer: 'answered', read: 'read', exec: 'ran', signal: 'sent a signal', resize: 'resized',
  lock: 'took the lock', unlock: 'gave the lock back', take_over: 'took over', close: 'closed', file_read: 'read a file',
  file_write: 'wrote a file', state: 'session', expect: 'set what to expect', question: 'login asks', adopt: 'adopted', give: 'gave away',
}

function callItem(c, short) {
  const item = element('li', 'call' + (c.person ? ' person' : '') + (c.error || c.failed ? ' failed' : ''))
  const meta = element('div', 'meta')
  meta.append(element('span', '', new Date(c.t).toLocaleTimeString()))
  if (c.who) meta.append(element('span', '', c.who))
  meta.append(element('span', '', verbs[c.verb] || c.verb))
  if (c.took >= 1) meta.append(element('span', '', c.took < 1000 ? `${c.took} ms` : `${(c.took / 1000).toFixed(1)} s`))
  if (c.running) meta.append(element('span', '', 'runs'))
  if (c.exit !== undefined) meta.append(element('span', c.exit ? 'bad' : 'good', `exit ${c.exit}`))
  if (c.signal) meta.append(element('span', 'bad', `signal ${c.signal}`))
  if (c.error) meta.append(element('span', 'bad', (c.refused ? 'refused: ' : '') + c.error))
  item.append(meta)
  const what = []
  if (c.command) what.push('$ ' + c.command)
  if (c.typed) what.push(`${c.typed} ${c.typed === 1 ? 'byte' : 'bytes'}${c.secret ? ', a secret' : ''}`)
  if (c.keys) what.push('keys: ' + c.keys.join(' '))
  if (c.path) what.push(c.path)
  if (!c.command && c.detail) what.push(c.detail)
  if (what.length) item.append(element('div', 'what', what.join('\n')))
  const texts = new Set(['stdout', 'stderr', 'chunk', 'message', 'screen', undefined])
  const rest = []
  for (const part of c.result || []) {
    if (!texts.has(part.name)) rest.push(`${part.name}: ${part.text}`)
    else if (part.text) item.append(element('pre', part.name === 'stderr' ? 'bad' : '', part.text))
  }
  if (rest.length && !short) item.append(element('div', 'small', rest.join('  ')))
  if (c.dropped) item.append(element('div', 'small', 'the result is no longer kept'))
  return item
}

function addCall(one, c) {
  const list = $('calls')
  const bottom = list.parentElement.scrollHeight - list.parentElement.scrollTop - list.parentElement.clientHeight < 60
  const item = callItem(c, false)
  const old = one.items.get(c.n)
  if (old) old.replaceWith(item)
  else list.append(item)
  one.items.set(c.n, item)
  while (list.children.length > 200) list.firstChild.remove()
  if (bottom) list.parentElement.scrollTop = list.parentElement.scrollHeight
}

// ---------- stepping in

let queue = []       // input that waits
let sending = false

$('take').onclick = async () => {
  const s = open.session
  try {
    const answer = await (await api('api/take', { p: s.p, session: s.id })).json()
    queue = []
    hold = { id: answer.hold, key: s.key, beat: setInterval(beat, 5000) }
    drawOne()
    $('keys').focus()
    if (answer.previous) $('hint').textContent = `You have taken it from ${answer.previous}.`
  } catch (err) { $('hint').textContent = err.message }
}

$('give').onclick = () => give()

function give() {
  const id = hold?.id
  release('')
  if (id) api('api/give', { hold: id }, { keepalive: true }).catch(() => {})
}

function release(why) {
  if (hold) clearInterval(hold.beat)
  hold = null
  queue = []
  $('password').value = ''
  drawOne()
  if (why) $('hint').textContent = why
}

async function beat() {
  const id = hold?.id
  if (!id) return
  try { await api('api/beat', { hold: id }) } catch (err) {
    if (hold?.id === id && err.status) release(err.message)
  }
}

addEventListener('pagehide', () => { if (hold) give() })

function type(input) {
  if (!hold) return
  const last = queue.at(-1)
  const plain = i => i.data !== undefined && !i.paste && !i.secret
  if (last && plain(last) && plain(input)) last.data += input.data
  else queue.push(input)
  send()
}

// send sends the input in order, one request at a time.
async function send() {
  if (sending) return
  sending = true
  while (hold && queue.length) {
    const id = hold.id
    try { await api('api/type', { hold: id, ...queue.shift() }) } catch (err) {
      if (hold?.id === id) {
        if (err.status === 409 || !err.status) release(err.message)
        else $('hint').textContent = err.message
      }
    }
  }
  sending = false
}

const named = {
  Enter: 'enter', Tab: 'tab', Escape: 'esc', Backspace: 'backspace', Delete: 'delete', Insert: 'insert', Home: 'home',
  End: 'end', PageUp: 'page_up', PageDown: 'page_down', ArrowUp: 'arrow_up', ArrowDown: 'arrow_down',
  ArrowLeft: 'arrow_left', ArrowRight: 'arrow_right',
}
for (let i = 1; i <= 12; i++) named['F' + i] = 'f' + i
const controls = { ' ': 'ctrl_space', '\\': 'ctrl_backslash', '^': 'ctrl_caret', _: 'ctrl_underscore' }

$('keys').addEventListener('keydown', e => {
  if (e.isComposing) return
  const letter = e.key.length === 1 ? e.key.toLowerCase() : ''
  if (e.ctrlKey && e.key === ']') {
    e.preventDefault()
    return give()
  }
  if (e.metaKey || (e.ctrlKey && letter === 'v') || (e.ctrlKey && e.shiftKey)) return // of the browser: paste and others
  let key = ''
  if (e.key === 'Tab' && e.shiftKey) key = 'shift_tab'
  else if (named[e.key]) key = named[e.key]
  else if (e.ctrlKey && !e.altKey && /^[a-z]$/.test(letter)) key = 'ctrl_' + letter
  else if (e.ctrlKey && !e.altKey && controls[letter]) key = controls[letter]
  else if (e.altKey && !e.ctrlKey && /^[a-z]$/.test(letter)) key = 'alt_' + letter
  if (!key) return // text comes as input
  e.preventDefault()
  e.stopPropagation()
  type({ key })
})
$('keys').addEventListener('input', e => {
  if (e.isComposing) return
  const data = $('keys').value.replace(/\n/g, '\r')
  $('keys').value = ''
  if (data) type({ data })
})
$('keys').addEventListener('compositionend', () => {
  const data = $('keys').value
  $('keys').value = ''
  if (data) type({ data })
})
$('keys').addEventListener('paste', e => {
  e.preventDefault()
  const data = e.clipboardData.getData('text/plain')
  if (data) type({ data, paste: true })
})
for (const button of document.querySelectorAll('[data-key]')) {
  button.onclick = () => { type({ key: button.dataset.key }); $('keys').focus() }
}
$('secret').onsubmit = e => {
  e.preventDefault()
  const text = $('password').value
  $('password').value = ''
  type({ data: text + '\r', secret: true })
  $('keys').focus()
}

// ---------- search

$('search').onsubmit = async e => {
  e.preventDefault()
  const pattern = $('pattern').value
  $('found').hidden = !pattern
  if (!pattern || !open) return
  const s = open.session
  const pre = element('pre')
  try {
    const found = await (await api('api/search', { p: s.p, session: s.id, pattern, ignoreCase: pattern === pattern.toLowerCase() })).json()
    const matches = found.matches || []
    pre.textContent = matches.map(m => m.text ?? m.line ?? '').join('\n') || 'Nothing in the output that is still held.'
  } catch (err) { pre.textContent = err.message }
  $('found').replaceChildren(pre)
}

// ---------- the rest

function recordings() {
  close()
  $('tiles').hidden = true
  $('replay').hidden = false
  overview()
  player ??= new Player(api, lines)
  player.list().catch(err => notice(err.message))
}

function theme(dark) {
  document.documentElement.classList.toggle('dark', dark)
}
const prefers = matchMedia('(prefers-color-scheme: dark)')
theme(prefers.matches)
prefers.onchange = () => theme(prefers.matches)
$('theme').onclick = () => theme(!document.documentElement.classList.contains('dark'))
$('home').onclick = home
$('recordings').onclick = recordings

if ('Notification' in window && Notification.permission === 'default') $('tell').hidden = false
$('tell').onclick = async () => { $('tell').hidden = (await Notification.requestPermission()) !== 'default' }

// tell shows a notice of the desktop, if the page is not seen. Systems keep notices, and show them on a locked screen: so
// it says who asks, and not the words. about is what a later notice takes the place of.
function tell(text, about) {
  if (!document.hidden || !('Notification' in window) || Notification.permission !== 'granted') return
  const n = new Notification('ptyctl', { body: printable(text).slice(0, 200), tag: about })
  n.onclick = () => {
    window.focus()
    const s = sessions.get(about)
    if (s) show(s)
    n.close()
  }
}

addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) {
    if (e.key === 'Escape' && e.target.id !== 'keys') e.target.blur()
    return
  }
  const player1 = !$('replay').hidden && !$('player').hidden
  if (e.key === 'Escape') home()
  else if (e.key === 't') $('theme').click()
  else if (e.key === 'r' && !$('recordings').hidden) recordings()
  else if (e.key === '/' && open) { e.preventDefault(); $('pattern').focus() }
  else if (e.key === ' ' && player1 && e.target.tagName !== 'BUTTON') { e.preventDefault(); $('play').click() }
  else if (e.key === 'n' && player1) player.step(1)
  else if (e.key === 'p' && player1) player.step(-1)
  else if (/^Arrow(Left|Right|Up|Down)$/.test(e.key) && e.target.classList.contains('tile')) {
    const next = /Left|Up/.test(e.key) ? e.target.previousElementSibling : e.target.nextElementSibling
    if (next) { e.preventDefault(); next.focus() }
  }
})

// lost removes what the page shows, and asks a person who has a token for it.
function lost(why) {
  token = ''
  player?.close()
  home()
  for (const s of [...sessions.values()]) s.remove()
  processes.clear()
  asked.clear()
  questions()
  for (const id of ['recordings', 'empty']) $(id).hidden = true
  $('mode').textContent = ''
  linked('not connected', true)
  $('login').hidden = !byToken
  if (byToken) $('token').focus()
  notice(why || (byToken ? '' : 'This page has no link to ptyctl watch any more. Press enter where it runs, and open the link that it prints.'))
}

async function enter(body, options) {
  try {
    const answer = await (await api('api/login', body, options)).json()
    token = answer.token
    readOnlyHint = answer.hint || readOnlyHint
    $('recordings').hidden = !answer.recordings
  } catch (err) { return lost(err.message) }
  $('login').hidden = true
  notice('')
  follow()
}

$('login').onsubmit = e => {
  e.preventDefault()
  const as = $('token').value.trim()
  $('token').value = ''
  if (as) enter({}, { as })
}

async function start() {
  const ticket = link.get('ticket')
  link.delete('ticket')
  if (ticket) return enter({ ticket })
  try { byToken = (await (await api('api/login')).json()).with === 'token' } catch (err) { return lost(err.message) }
  lost()
}
start()
