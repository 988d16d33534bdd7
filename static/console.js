// Keeps a page up to date over one websocket, and gives it keys. A page without
// it is complete, only still. The server renders; this swaps what has changed.
const root = document.documentElement
const body = document.body
const $ = (q, e = document) => e.querySelector(q)
const $$ = (q, e = document) => [...e.querySelectorAll(q)]
const args = new URLSearchParams(location.search)
// The console may be mounted under any address; pages are known by what follows it.
const base = new URL(body.dataset.root || '/', location)
const pathOf = u => u.pathname.slice(base.pathname.length - 1) + u.search
const visit = path => location.assign(new URL(path, base))

// Theme: stored when chosen with the key, never by an address; theme.js sets it.
const otherTheme = () => {
  const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme:dark)').matches
  root.dataset.theme = dark ? 'light' : 'dark'
  localStorage.setItem('theme', root.dataset.theme)
}

// Time: the server's clock decides, however this one is set.
let offset = body.dataset.now - Date.now()
let still = args.has('still') || 'still' in body.dataset
const now = () => Date.now() + offset
const two = (n, a, m, b) => n + a + (m ? ' ' + m + b : '')
const span = ms => {
  const s = Math.floor(ms / 1e3)
  if (ms <= 0) return '0s'
  if (ms < 1e3) return '0.' + Math.max(1, Math.floor(ms / 100)) + 's'
  if (s < 60) return s + 's'
  if (s < 3600) return two(Math.floor(s / 60), 'm', s % 60, 's')
  if (s < 86400) return two(Math.floor(s / 3600), 'h', Math.floor(s % 3600 / 60), 'm')
  const days = Math.floor(s / 86400)
  return two(days, 'd', days < 100 && Math.floor(s % 86400 / 3600), 'h')
}
const put = (e, text) => { if (e.textContent !== text) e.textContent = text }
const tell = (e, at) => {
  const {until, since} = e.dataset
  put(e, until ? span(until - at) : span(at - since))
}
const clocks = (e, at = now()) => $$('[data-until],[data-since]', e).forEach(x => tell(x, at))
const shown = e => $$('.js', e).forEach(x => { x.hidden = false })

// State of the stream.
let page = body.dataset.page
let {epoch, v} = body.dataset
let seq = +body.dataset.seq
let socket, timer, tries = 0, heard = 0, lastUpdate = now(), state = 'live', following = null
const button = $('#live'), told = $('#told'), say = $('#say'), resort = $('#resort')

const words = {live: 'live', paused: 'paused', broken: 'not live'}
const become = to => {
  if (state === to || !button) return
  state = to
  button.dataset.state = to
  put($('span', button), words[to])
  for (const e of $$('[data-past]')) {
    e.dataset.is ||= e.textContent
    put(e, to === 'broken' ? e.dataset.past : e.dataset.is)
  }
}

let gone = '' // why the page is not available, as long as the notice says that
// A notice has times that change every second, so that its title alone is said, once. Its
// button keeps the focus.
const notice = (tone, title, text, action, act) => {
  const old = $('button', told), same = !told.hidden && $('b', told).textContent === title
  const kept = old?.textContent === action, focused = kept && document.activeElement === old
  if (!same) announce(title, 'notice')
  gone = ''
  told.className = 'notice ' + tone
  if (same && kept) {
    old.onclick = act
    put($('span', told), text)
    return $('span', told)
  }
  told.replaceChildren()
  const add = (tag, s) => told.appendChild(Object.assign(document.createElement(tag), {textContent: s}))
  const head = add('b', '')
  head.innerHTML = `<svg class="glyph" aria-hidden="true"><use href="#g-${tone}"></use></svg>`
  head.append(title)
  const line = add('span', text)
  const doIt = add('button', action)
  doIt.onclick = act
  if (focused) doIt.focus()
  told.hidden = false
  $('#f-notice').hidden = true
  return line
}
const unnotice = () => {
  gone = ''
  told.hidden = true
  $('#f-notice').hidden = false
}

// Swapping: what the reader holds (focus, open folds, a selection) stays.
const pending = new Map()
const selecting = e => {
  const s = getSelection()
  return s && !s.isCollapsed && s.rangeCount && s.getRangeAt(0).intersectsNode(e)
}
const place = e => {
  const a = document.activeElement
  if (!a || a === e || !e.contains(a)) return null
  const all = $$('a,button,input,summary,[tabindex]', e)
  return {i: all.indexOf(a), href: a.getAttribute('href'), rel: a.getAttribute('rel')}
}
const back = (e, p) => {
  const all = $$('a,button,input,summary,[tabindex]', e)
  const to = all.find(x => p.rel && x.getAttribute('rel') === p.rel) || all.find(x => p.href && x.getAttribute('href') === p.href) || all[p.i]
  to?.focus({preventScroll: true})
}
const fold = e => e.dataset.k || $('summary', e)?.textContent
const cursorIn = e => e.matches('.at') ? 0 : $$('[data-row]', e).findIndex(x => x.matches('.at'))

// What is said waits its turn; an outcome replaces an earlier one, but not the title of a notice.
let announced = 0, waiting = 0, next = {}
const announce = (text, kind = 'outcome') => {
  next[kind] = text
  waiting ||= setTimeout(() => {
    say.textContent = Object.values(next).join('. ')
    announced = Date.now()
    waiting = 0
    next = {}
  }, Math.max(0, announced + 5e3 - Date.now()))
}

// A part that was taller keeps its height, so that what stands below it does not
// move; a reader who steps, opens a fold or resizes gets it back.
const give = (e = document) => {
  free()
  $$('[style]', e).forEach(x => x.style.removeProperty('--h'))
}
const heightOf = e => e.style.getPropertyValue('--h')
let stepped = 0
addEventListener('resize', () => give())
document.addEventListener('click', e => { if (e.target.closest?.('summary')) give() })

// A part that becomes taller than its room is cut there while somebody may be
// reading what stands below it, until they do anything or nothing for a minute.
// What had less than two fifths of what it needs is another part now: it gets it.
const free = () => $$('[data-cut]').forEach(x => { delete x.dataset.cut })
let touched = Date.now()
for (const e of ['pointermove', 'scroll', 'wheel']) addEventListener(e, () => { touched = Date.now() }, {passive: true})
for (const e of ['click', 'keydown']) addEventListener(e, () => { touched = Date.now(); free() })
const alone = () => Date.now() - touched > 6e4
const cut = (e, old, room, bottom) => {
  if (alone() || bottom <= 0 || bottom >= innerHeight) return
  const {height} = e.getBoundingClientRect()
  if (height > room + 1 && (e.matches('tr') ? old.matches('.quiet,[data-cut]') : room > .4 * height)) e.dataset.cut = ''
}

const swap = (id, html) => {
  const old = document.getElementById(id)
  if (!old) return
  if (selecting(old)) return pending.set(id, html)
  const t = document.createElement('template')
  t.innerHTML = html
  const neu = t.content.firstElementChild
  clocks(neu)
  shown(neu)
  if (id === 'f-notice') neu.hidden = !told.hidden
  const kept = heightOf(old), acted = Date.now() - stepped < 2e3
  if (kept) neu.style.setProperty('--h', kept)
  if ('cut' in old.dataset) neu.dataset.cut = ''
  if (old.isEqualNode(neu)) return
  delete neu.dataset.cut
  const was = old.getBoundingClientRect(), room = Math.max(parseFloat(kept) || 0, was.height)
  if (acted) neu.removeAttribute('style')
  else neu.style.setProperty('--h', room + 'px')
  const open = new Map($$('details', old).map(d => [fold(d), d.open]))
  for (const d of $$('details', neu)) if (open.has(fold(d))) d.open = open.get(fold(d))
  const before = new Map($$('[data-n]', old).map(x => [x.dataset.n, x.textContent]))
  for (const x of $$('[data-n]', neu)) if (before.get(x.dataset.n) !== x.textContent && !/[a-z]$/.test(x.textContent)) x.classList.add('new')
  if (neu.matches('tr')) neu.classList.add('new')
  const scroll = $$('.scroll', old).map(x => x.scrollLeft)
  const tones = e => e.matches('[data-tone]') ? e : $('[data-tone]', e)
  const a = tones(old), b = tones(neu)
  const title = id === 'f-notice' && $('b', neu)?.textContent
  if (title && title !== $('b', old)?.textContent) announce(title.trim(), 'notice')
  if (a && b && a.dataset.tone !== b.dataset.tone) announce(b.dataset.says)
  const focus = place(old), at = cursorIn(old)
  old.replaceWith(neu)
  if (!acted) cut(neu, old, room, was.bottom)
  if (focus) back(neu, focus)
  if (at >= 0) (neu.matches('[data-row]') ? neu : $$('[data-row]', neu)[at])?.classList.add('at', 'cursor')
  $$('.scroll', neu).forEach((x, i) => { x.scrollLeft = scroll[i] || 0 })
}
document.addEventListener('selectionchange', () => {
  if (!pending.size || !getSelection().isCollapsed) return
  const list = [...pending]
  pending.clear()
  list.forEach(x => swap(...x))
})

// Nobody who types or has something selected is sent to another page.
const busy = () => document.activeElement?.matches('input,textarea,select') || getSelection()?.isCollapsed === false
// Rows never move by themselves: the reader is told that they would. The link stays
// the same one, for whoever is about to follow it.
const again = Object.assign(document.createElement('a'), {textContent: 'sort again'})
const sorted = order => {
  if (!resort) return
  const rows = $$('tr[data-row]')
  const ids = rows.map(r => r.id)
  const moved = rows.filter(r => r.dataset.g !== r.parentElement.dataset.g).length
  const fresh = order.filter(id => !ids.includes(id)).length
  const parts = []
  if (moved) parts.push(moved + ' changed group')
  if (fresh) parts.push(fresh + (fresh > 1 ? ' are' : ' is') + ' new here')
  const left = ids.filter(id => !order.includes(id)).length - fresh
  if (left > 0) parts.push(left + (left > 1 ? ' are' : ' is') + ' no longer here')
  resort.hidden = !parts.length
  if (resort.hidden) return
  const {href} = new URL(page.slice(1), base)
  if (again.href !== href) again.href = href
  if (!again.parentNode) resort.append(' ', again)
  put(resort.firstChild, parts.join(', ') + ', ')
  if (!rows.length && fresh && !busy()) location.reload()
}
let order = null
// The page of an object whose first sync has ended is another one.
let other = false

const receive = m => {
  heard = Date.now()
  offset = m.now - Date.now()
  lastUpdate = m.now
  if (m.gone) {
    if (m.gone !== gone) notice('wait', 'This page is no longer available', m.gone, 'Reload', () => location.reload())
    return void (gone = m.gone)
  }
  if (gone) unnotice()
  if (m.restarted) notice('idle', 'Another run is shown', 'Loopscope was restarted, or another process leads. Sync numbers are those of the run that is shown now.', 'Close', unnotice)
  if (m.missed) notice('wait', m.missed + ' traces missed', 'This page fell behind. What it shows now is right; the steps in between are not shown.', 'Close', unnotice)
  seq = m.seq
  epoch = m.epoch
  for (const f of m.frags || []) swap(f.id, f.html)
  other ||= $('#f-first') && m.frags?.some(f => f.id === 'f-head')
  if (other && !busy()) return location.reload()
  const h1 = $('h1')
  document.title = (h1.dataset.says || h1.textContent) + ' · Loopscope'
  if (m.order) order = m.order
  if (order) sorted(order)
}

// Rows in sight are kept up to date at once, the others every few seconds.
const rows = () => $$('tr[id^="r-"]').slice(0, 100)
const inSight = (r, margin) => {
  const {top, bottom, height} = r.getBoundingClientRect()
  return !document.hidden && height > 0 && bottom > -margin && top < innerHeight + margin
}
let sighted = new Set(), glancing = 0
const subscribe = scrolled => {
  const all = rows()
  sighted = new Set(all.filter(r => inSight(r, 150)).map(r => r.id))
  const others = all.map(r => r.id).filter(id => !sighted.has(id))
  socket.send(JSON.stringify({page, after: seq, epoch, v, rows: [...sighted, ...others], sight: sighted.size, scrolled}))
  v = ''
}
const glance = () => {
  glancing = 0
  if (socket?.readyState !== 1 || state !== 'live') return
  if (document.hidden ? sighted.size : rows().some(r => !sighted.has(r.id) && inSight(r, 0))) subscribe(true)
}
const glanceSoon = () => { glancing ||= setTimeout(glance, 100) }
for (const e of ['scroll', 'resize', 'toggle']) addEventListener(e, glanceSoon, {capture: true, passive: true})
document.addEventListener('visibilitychange', glance)

const connect = () => {
  clearTimeout(timer)
  if (!page || state === 'paused' || socket) return
  const s = socket = new WebSocket(new URL('live', base).href.replace(/^http/, 'ws'), 'loopscope.page.v1')
  s.onopen = () => {
    if (s !== socket) return
    tries = 0
    heard = Date.now()
    if (state === 'broken') unnotice()
    become('live')
    subscribe()
  }
  s.onmessage = e => { if (s === socket) receive(JSON.parse(e.data)) }
  s.onclose = () => { if (s === socket) lost() }
}
const drop = () => {
  const s = socket
  socket = null
  if (s?.readyState === 0) s.onopen = () => s.close() // Browsers warn of one that is closed before it is open.
  else s?.close()
}
let line, due = 0
const lost = () => {
  drop()
  if (state === 'paused') return
  v = ''
  become('broken')
  const wait = Math.min(30, 2 ** tries++)
  due = Date.now() + wait * 1e3
  timer = setTimeout(connect, wait * 1e3)
  line = notice('wait', 'Not live', '', 'Try now', () => { tries = 0; connect() })
  broken()
  refused(line)
}
// A socket does not say that its reader is not signed in any more: an answer does.
const refused = shown => fetch(new URL('about.json', base)).then(async r => {
  const said = r.status === 401 && await r.json().catch(() => {})
  if (r.status !== 401 || line !== shown || state !== 'broken') return
  clearTimeout(timer)
  line = null
  notice('fail', 'Not signed in any more', said?.error?.message || 'Sign in, and reload this page.', 'Try now', () => { tries = 0; connect() })
}, () => {})
const broken = () => line && put(line, `Last update ${new Date(lastUpdate).toISOString().slice(11, 19)}, ${span(now() - lastUpdate)} ago. Next try in ${span(Math.max(0, due - Date.now()))}.`)

const pause = () => {
  if (state === 'paused') {
    become('live')
    still = false
    connect()
  } else {
    clearTimeout(timer)
    unnotice()
    become('paused')
    drop()
    v = ''
  }
}

// Steps from sync to sync stay on the page where the stream can follow.
const follows = () => state === 'live' && socket?.readyState === 1
let here = pathOf(location)
const step = u => {
  page = here = pathOf(u)
  stepped = Date.now()
  v = ''
  subscribe()
}
addEventListener('popstate', () => {
  const to = pathOf(location)
  if (to === here) return // A place on this page.
  if (page && follows() && to.split('?')[0] === here.split('?')[0]) step(location)
  else location.reload()
})
document.addEventListener('click', e => {
  const a = e.target.closest?.('a[data-step]')
  if (!a || e.ctrlKey || e.metaKey || e.shiftKey || e.button || !follows()) return
  e.preventDefault()
  history.pushState(null, '', a.href)
  step(a)
})

setInterval(() => {
  if (alone()) free()
  if (state === 'broken') return broken()
  if (still || state === 'paused') return
  clocks(document)
  glance()
  if (socket?.readyState === 1 && Date.now() - heard > 25e3) lost()
}, 1e3)

// Keys.
const sheet = $('#keys')
const help = () => {
  sheet.hidden = !sheet.hidden
  if (!sheet.hidden) sheet.focus()
}
const at = () => $('[data-row].at')
const move = by => {
  const rows = $$('[data-row]').filter(r => r.offsetParent)
  const was = rows.indexOf(at())
  const to = rows[Math.max(0, Math.min(rows.length - 1, was < 0 ? (by > 0 ? 0 : rows.length - 1) : was + by))]
  at()?.classList.remove('at', 'cursor')
  to?.classList.add('at', 'cursor')
  to?.scrollIntoView({block: 'nearest'})
}
const press = q => $(q)?.click()
const copy = () => {
  const permalink = $('#permalink')
  const u = new URL(permalink ? permalink.href : page ? page.slice(1) : location, base)
  navigator.clipboard?.writeText(u.href).then(() => announce('Link copied'))
}
const open = () => press($('[data-row].at a.row') ? '[data-row].at a.row' : '#permalink')
const keys = {
  '/': () => $('input[type=search]')?.focus(),
  '?': help,
  j: () => move(1),
  k: () => move(-1),
  o: open,
  h: () => press('a[rel=prev]'),
  l: () => press('a[rel=next][data-step]'),
  ArrowLeft: () => press('a[rel=prev]'),
  ArrowRight: () => press('a[rel=next][data-step]'),
  Home: () => press('a[rel=first]'),
  End: () => press('a[rel=last]'),
  n: () => press('a[data-next]'),
  u: () => press('a[rel=up]'),
  e: () => ($('.path .at .id a') || $('.path .stop .id a') || $('.path .on .id a'))?.click(),
  w: () => press('.crumbs a[href*="/what-if"]'),
  p: () => button && pause(),
  t: otherTheme,
  c: copy,
  gd: () => press('.tabs a'),
  gq: () => visit('queues'),
  ga: () => press('.tabs a[href*="decisions"]'),
  gh: () => visit('history'),
  gs: () => press('.tabs a[href$="shadow"]'),
}
let chord = ''
addEventListener('keydown', e => {
  if (e.key === 'Escape') {
    sheet.hidden = true
    if (e.target.matches('input')) e.target.blur()
  }
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest('input,select,textarea,[contenteditable]')) return
  if (e.key === 'Enter' && e.target === body && at()) return open()
  const key = chord + e.key
  chord = ''
  if (e.key === 'g') return void (chord = 'g')
  if (/^[1-5]$/.test(key)) return $$('.tally a')[key - 1]?.click()
  if (!keys[key] || e.target.closest('.scroll,.flow-box,pre') && key.startsWith('Arrow')) return
  if (key === 'Home' && !$('a[rel=first]') || key === 'End' && !$('a[rel=last]')) return
  e.preventDefault()
  keys[key]()
})

shown(document)
clocks(document)
if (button) {
  button.hidden = false
  button.onclick = pause
  const c = $('#copy')
  if (navigator.clipboard) {
    c.hidden = false
    c.onclick = copy
  }
}
if (still) become('paused')
connect()
addEventListener('pageshow', e => { if (e.persisted) { drop(); v = ''; connect() } })
