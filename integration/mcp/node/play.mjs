// Plays asciicast files in the core of asciinema-player, without a browser, and prints what its terminal gets:
//
//	node play.mjs DIST FILE...
//
// DIST is the folder dist of the package.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [dist, ...files] = process.argv.slice(2)
const load = (prefix) => {
  const name = readdirSync(dist).find((n) => n.startsWith(prefix) && n.endsWith('.js'))
  return import(pathToFileURL(join(dist, name)).href)
}
const { C: Core } = await load('core-')
const { D: Logger } = await load('logging-')
for (const file of files) {
  const got = { output: '', sizes: [], markers: [], errors: [] }
  const core = new Core(
    { driver: 'recording', data: () => readFileSync(file, 'utf8') },
    { logger: new Logger(), speed: 1, preload: true },
  )
  core.addEventListener('metadata', (e) => { got.duration = e.duration; got.markers = e.markers.map((m) => m[1]) })
  core.addEventListener('error', (e) => got.errors.push(e?.message ?? JSON.stringify(e)))
  core.addEventListener('output', (data) => { got.output += [data].flat().join('') })
  core.addEventListener('reset', (e) => got.sizes.push(`${e.size?.cols}x${e.size?.rows}`))
  core.addEventListener('resize', (e) => got.sizes.push(`${e.cols}x${e.rows}`))
  core.terminalReady()
  await core.init()
  await core.seek('100%')
  console.log(JSON.stringify(got))
}
process.exit(0)
