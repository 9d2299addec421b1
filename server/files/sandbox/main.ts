import { buffer } from 'node:stream/consumers'
import { type AnswerKind, isAnswer } from './answer-kinds.ts'
import { type Collector, createCollector } from './collector.ts'
import { cutOff } from './no-network.ts'
import type { TextKind } from './text-kind.ts'
import { Unreadable } from './unreadable.ts'
import { watch } from './watchdog.ts'

/** A file, or what a service made of one. */
export type ContentKind = TextKind | AnswerKind

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
process.stdout.write(JSON.stringify(await extract(await buffer(process.stdin))))

async function extract(bytes: Buffer) {
  const text = createCollector(task.maxCharacters)
  try {
    await read(bytes, text)
    return text.result()
  } catch (error) {
    return { unreadable: error instanceof Unreadable ? error.reason : 'damaged' }
  }
}

/** A parser is loaded only for files that need it. */
async function read(bytes: Buffer, text: Collector): Promise<void> {
  const { kind } = task
  if (isAnswer(kind)) return (await import('./answers.ts')).readAnswer(bytes, kind, text)
  if (kind === 'pdf') return (await import('./pdf.ts')).readPdf(bytes, text)
  if (kind === 'docx') return (await import('./docx.ts')).readDocx(bytes, text)
  if (kind === 'plain') return (await import('./plain.ts')).readPlain(bytes, text)
  return (await import('./office.ts')).readOffice(bytes, kind, text)
}
