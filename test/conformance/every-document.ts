import { applies, type Finding, refuse } from './check.ts'
import type { Answer } from './client.ts'
import { isObject, type Json, type JsonObject, short } from './json.ts'
import type { TargetServer } from './target.ts'
import type { Part } from './walk.ts'

type Parts<T extends Json> = (document: JsonObject, isLinkage: boolean) => Part<T>[]

/** Judges a part of every document there is; a judge says what is wrong. */
export const inAll =
  <T extends Json>(parts: Parts<T>, judge: (value: T, answer: Answer) => string | undefined) =>
  async (server: TargetServer) => {
    const answers = await server.documents()
    const found = answers.flatMap((answer) =>
      parts(answer.document, answer.isLinkage).map((part) => ({ answer, ...part })),
    )
    applies(found.length > 0, 'no document has such a part')
    const findings = found.flatMap(({ answer, value, at }): Finding[] => {
      const wrong = judge(value, answer)
      return wrong ? [{ at: `${answer.at} ${at}`, seen: wrong }] : []
    })
    refuse(findings)
  }

/** The document as a whole. */
export const root = (document: JsonObject): Part[] => [{ value: document, at: '' }]
export const onlyObjects = (parts: Part<Json>[]) => parts.filter((part): part is Part => isObject(part.value))

/** Members of an extension and @-members are always allowed. */
const strangers = (value: JsonObject, known: string[]) =>
  Object.keys(value).filter((name) => !known.includes(name) && !name.includes(':') && !name.startsWith('@'))

export const onlyMembers =
  (...known: string[]) =>
  (value: JsonObject) => {
    const found = strangers(value, known)
    return found.length > 0 ? `unknown members ${found.join(', ')}` : undefined
  }

const isIdentified = ({ type, id }: JsonObject) => typeof type === 'string' && typeof id === 'string'

export const identity = (value: JsonObject) =>
  isIdentified(value) ? undefined : `type and id are ${short([value['type'], value['id']])}`
