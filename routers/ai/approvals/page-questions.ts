import { createHash, randomUUID } from 'node:crypto'
import { Problem } from '../../core/problems.ts'
import type { Services } from '../../core/services.ts'
import { TOOL_QUESTIONS } from '../../ports/vault.ts'

/** Maximum number of open questions of one person; the oldest is dropped first. */
const MAX_QUESTIONS = 20

/** Maximum number of attempts if other replicas update the list concurrently. */
const MAX_TRIES = 10

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
  (await readQuestions(store, person)).questions.filter(({ isAllowed }) => !isAllowed)

type Asked = Pick<ToolQuestion, 'credential' | 'tool' | 'server' | 'hash' | 'input' | 'fingerprint'>

/** Asks the person, unless the same question is open. */
export async function askPerson(store: Store, person: number, asked: Asked): Promise<void> {
  const now = Date.now()
  const until = now + store.settings.tools.questionLifetime
  await updateQuestions(store, person, (questions) =>
    questions.some((one) => isSame(one, asked))
      ? undefined
      : [...questions, { id: randomUUID(), ...asked, isAllowed: false, askedAt: now, until }].slice(-MAX_QUESTIONS),
  )
}

/** True if the person has allowed the call, which has not run yet. */
export async function hasAllowance(
  store: Store,
  person: number,
  call: Pick<ToolQuestion, 'credential' | 'fingerprint'>,
): Promise<boolean> {
  const { questions } = await readQuestions(store, person)
  return questions.some((one) => one.isAllowed && isSame(one, call))
}

/** Uses up the person's answer to a call. Of several equal calls at once, only one gets it. */
export async function takeAllowance(
  store: Store,
  person: number,
  call: Pick<ToolQuestion, 'credential' | 'fingerprint'>,
): Promise<boolean> {
  return updateQuestions(store, person, (questions) => {
    const rest = questions.filter((one) => !(one.isAllowed && isSame(one, call)))
    return rest.length === questions.length ? undefined : rest
  })
}

/** Answers a question: `once` lets the same call run once. Returns the question; throws if it is not open. */
export async function answerQuestion(store: Store, person: number, id: string, allow: boolean): Promise<ToolQuestion> {
  let answered: ToolQuestion | undefined
  await updateQuestions(store, person, (questions) => {
    answered = questions.find((one) => one.id === id && !one.isAllowed)
    if (!answered) return undefined
    return questions.flatMap((one) => {
      if (one.id !== id) return one
      return allow ? { ...one, isAllowed: true } : []
    })
  })
  if (!answered) throw new Problem('not_found', { detail: 'This question is answered already, or too old.' })
  return answered
}

const isSame = (
  one: Pick<ToolQuestion, 'credential' | 'fingerprint'>,
  other: Pick<ToolQuestion, 'credential' | 'fingerprint'>,
): boolean => one.credential === other.credential && one.fingerprint === other.fingerprint

/**
 * Updates the list with compare-and-set, and retries if another replica was faster. Returns false if there is nothing to
 * change.
 */
async function updateQuestions(
  store: Store,
  person: number,
  applyChange: (questions: readonly ToolQuestion[]) => ToolQuestion[] | undefined,
): Promise<boolean> {
  const { kv } = store.stores
  const key = buildKey(person)
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const { stored, questions } = await readQuestions(store, person)
    const changed = applyChange(questions)
    if (!changed) return false
    const sealed = store.vault.seal(JSON.stringify(changed), TOOL_QUESTIONS)
    const { questionLifetime } = store.settings.tools
    const isStored = await (stored === undefined
      ? kv.setIfAbsent(key, sealed, questionLifetime)
      : kv.replaceIfUnchanged(key, stored, sealed, questionLifetime))
    if (isStored) return true
  }
  throw new Problem('busy')
}

/** Reads the questions that are not too old. They are sealed, because they have arguments. */
async function readQuestions({ stores, vault }: Store, person: number) {
  const stored = await stores.kv.get(buildKey(person))
  const all = stored === undefined ? [] : (JSON.parse(vault.open(stored, TOOL_QUESTIONS)) as ToolQuestion[])
  return { stored, questions: all.filter(({ until }) => until > Date.now()) }
}

const buildKey = (person: number) => `mcp-questions:${person}`
