import { createHash, randomUUID } from 'node:crypto'
import { withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import type { Services } from '../../core/services.ts'
import { TOOL_QUESTIONS } from '../../ports/vault.ts'
import { readList, type StoredList, updateList } from './stored-list.ts'

/** Maximum number of questions of one person, with those that are allowed and have not run yet. */
const MAX_QUESTIONS = 40

/** Maximum number of them for one program, so that it leaves room for others. */
const MAX_OF_PROGRAM = 10

/** A call of a program that its person must allow. */
export interface ToolQuestion {
  id: string
  /** The token of the program. An answer for one program is none for another. */
  credential: string
  tool: string
  /** The label of its server. */
  server: string
  /** Hash of the tool's server and definition. */
  hash: string
  /** The arguments as the person sees them. */
  input: string
  /** Fingerprint of the call: the tool, its definition and all arguments. */
  fingerprint: string
  /** True once the person has allowed it; the same call then runs once. */
  isAllowed: boolean
  /** Milliseconds since 1970. */
  askedAt: number
  until: number
}

type Store = Pick<Services, 'stores' | 'settings' | 'vault'>

/** Returns what tells one call from another, whatever the order of the arguments. */
export const createFingerprint = ({ tool, hash, input }: { tool: string; hash: string; input: unknown }): string =>
  createHash('sha256')
    .update(JSON.stringify([tool, hash, sortMembers(input)]))
    .digest('hex')

function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMembers)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  // An object would put names that are numbers first.
  return members.map(([name, member]) => [name, sortMembers(member)])
}

/** Returns the questions that wait for the person, oldest first. */
export const listQuestions = async (store: Store, person: number): Promise<ToolQuestion[]> =>
  (await readList(getQuestions(store, person))).filter(({ isAllowed }) => !isAllowed)

type Asked = Pick<ToolQuestion, 'credential' | 'tool' | 'server' | 'hash' | 'input' | 'fingerprint'>

/** Asks the person, unless the same question is there. Returns false if there is no room for another one. */
export async function askPerson(ctx: Context, person: number, asked: Asked): Promise<boolean> {
  const store = ctx.services
  const now = Date.now()
  const question = {
    id: randomUUID(),
    ...asked,
    isAllowed: false,
    askedAt: now,
    until: now + store.settings.tools.questionLifetime,
  }
  let isAsked = true
  const isNew = await updateList(getQuestions(store, person), (questions) => {
    isAsked = true
    if (questions.some((one) => isSame(one, asked))) return undefined
    const added = makeRoom(questions, asked)
    isAsked = added !== undefined
    return added && [...added, question]
  })
  if (isNew) await reportChange(ctx, person, 'created', question.id)
  return isAsked
}

/** Reports a change of the questions to the open pages of the person, which then read them. */
const reportChange = (ctx: Context, person: number, verb: 'created' | 'deleted', id: string): Promise<void> =>
  withChangeLog(ctx, async (_em, changes) => changes.add([`user:${person}`], verb, 'tool-questions', id))

/**
 * Drops the program's oldest open question if there is no room for another one. Returns undefined if it has none: what
 * the person has allowed, and questions of other programs, stay.
 */
function makeRoom(questions: readonly ToolQuestion[], { credential }: Asked): readonly ToolQuestion[] | undefined {
  const own = questions.filter((one) => one.credential === credential)
  if (questions.length < MAX_QUESTIONS && own.length < MAX_OF_PROGRAM) return questions
  const oldest = own.find(({ isAllowed }) => !isAllowed)
  return oldest && questions.filter((one) => one !== oldest)
}

/** True if the person has allowed the call, which has not run yet. */
export async function hasAllowance(
  store: Store,
  person: number,
  call: Pick<ToolQuestion, 'credential' | 'fingerprint'>,
): Promise<boolean> {
  const questions = await readList(getQuestions(store, person))
  return questions.some((one) => one.isAllowed && isSame(one, call))
}

/** Uses up the person's answer to a call. Of several equal calls at once, only one gets it. */
export async function takeAllowance(
  store: Store,
  person: number,
  call: Pick<ToolQuestion, 'credential' | 'fingerprint'>,
): Promise<boolean> {
  return updateList(getQuestions(store, person), (questions) => {
    const rest = questions.filter((one) => !(one.isAllowed && isSame(one, call)))
    return rest.length === questions.length ? undefined : rest
  })
}

/**
 * Answers a question, and lets the same call run once if `isOnce` is true. Returns the question; throws if it is not
 * open.
 */
export async function answerQuestion(ctx: Context, person: number, id: string, isOnce: boolean): Promise<ToolQuestion> {
  let answered: ToolQuestion | undefined
  await updateList(getQuestions(ctx.services, person), (questions) => {
    answered = questions.find((one) => one.id === id && !one.isAllowed)
    if (!answered) return undefined
    return questions.flatMap((one) => {
      if (one.id !== id) return one
      return isOnce ? { ...one, isAllowed: true } : []
    })
  })
  if (!answered) throw new Problem('not_found', { detail: 'This question is answered already, or too old.' })
  await reportChange(ctx, person, 'deleted', id)
  return answered
}

const isSame = (
  one: Pick<ToolQuestion, 'credential' | 'fingerprint'>,
  other: Pick<ToolQuestion, 'credential' | 'fingerprint'>,
): boolean => one.credential === other.credential && one.fingerprint === other.fingerprint

/** They are sealed, because they have arguments. */
const getQuestions = ({ stores, settings, vault }: Store, person: number): StoredList<ToolQuestion> => ({
  kv: stores.kv,
  key: `mcp-questions:${person}`,
  lifetime: settings.tools.questionLifetime,
  parse: (stored) => JSON.parse(vault.open(stored, TOOL_QUESTIONS)) as ToolQuestion[],
  serialize: (questions) => vault.seal(JSON.stringify(questions), TOOL_QUESTIONS),
})
