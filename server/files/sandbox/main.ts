import { buffer } from 'node:stream/consumers'
import type { ContentKind } from './content-kinds.ts'
import { extractText } from './extract.ts'
import { blockNetwork } from './no-network.ts'
import { startWatchdog } from './watchdog.ts'

export interface Task {
  kind: ContentKind
  maxCharacters: number
  /** Limit in bytes. */
  memory: number
  /** Limit of processor time, in milliseconds. */
  timeout: number
}

/** Reads a file from standard input, and writes its text, or the reason why it has none, to standard output as JSON. */
const task = JSON.parse(process.argv[2] ?? '') as Task
startWatchdog(task)
blockNetwork()
const { kind, maxCharacters } = task
process.stdout.write(JSON.stringify(await extractText(await buffer(process.stdin), kind, maxCharacters)))
