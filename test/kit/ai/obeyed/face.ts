import type { TestApp } from '../../app.ts'
import type { TestBrowser } from '../../browser.ts'
import type { Call, Schema } from '../dialects/dialect.ts'

/** What is asked beside the question. */
export interface Wish {
  tools?: { name: string; schema: Schema }[]
  choice?: 'auto' | 'required' | 'none' | { name: string }
  parallelTools?: boolean
  /** Any JSON. */
  json?: true
  /** JSON of a schema. */
  schema?: Schema
  stop?: string[]
  maxTokens?: number
  seed?: number
}

/** What came of it; the end and the tokens where the face tells of them. */
export interface Heard {
  text: string
  calls: Pick<Call, 'name' | 'input'>[]
  end?: string | null | undefined
  tokens?: { input: number; output: number }
}

/** Somebody who asks a service, by a token or in a browser. */
export interface Asker {
  svc: TestApp
  token: string
  browser: TestBrowser
}

export interface Question {
  model: string
  text: string
  wish: Wish
  stream: boolean
}

/** One of the ways in which a model is asked. */
export interface Face {
  name: string
  /** What it calls the parts of a wish; others it has no word for. */
  words: Partial<Record<keyof Wish, string>>
  /** How it says why an answer ended. */
  ends?: Record<'stop' | 'length' | 'calls', string>
  ask(asker: Asker, question: Question): Promise<Heard>
}

/** The members that are set. */
export const set = (members: object) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
