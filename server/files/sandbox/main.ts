import { buffer } from 'node:stream/consumers'
import type { ContentKind } from './content-kinds.ts'
import { extract } from './extract.ts'
import { cutOff } from './no-network.ts'
import { watch } from './watchdog.ts'

export interface Task {
  kind: ContentKind
  maxCharacters: number
  /** Memory in bytes. */
  memory: number
  /** Milliseconds of processor time. */
  timeout: number
}

/** Reads a file from standard input and writes its text, or why there is none, to standard output as JSON. */
const task = JSON.parse(process.argv[2] ?? '') as Task
watch(task)
cutOff()
const { kind, maxCharacters } = task
process.stdout.write(JSON.stringify(await extract(await buffer(process.stdin), kind, maxCharacters)))
