import { errorCodes } from '../../routers/core/problems.ts'
import { accessOf, metaOf } from '../../routers/core/trpc.ts'
import { sentenceFor } from '../../routers/resource/words.ts'
import { accessSentence, procedureAt } from '../http/procedures.ts'

/** What to say of a procedure; nothing where no token is good for it, because the client has nothing else. */
function sentenceOf(name: string): string | undefined {
  const procedure = procedureAt(name)
  if (!procedure) throw new Error(`There is no procedure ${name}.`)
  const { about, exposes } = metaOf(procedure)
  const access = accessOf(procedure)
  if (access.callers === 'the host' || access.sessionOnly) return undefined
  const sentence = about ?? (exposes && sentenceFor(exposes))
  if (!sentence) throw new Error(`Nobody said what ${name} does.`)
  return `${sentence} ${accessSentence(access)}`
}

export interface Documented {
  name: string
  sentence: string
}

/**
 * The compiler's declarations of the client, made whole: names of the service are spelled out, each procedure has its
 * comment, and those that a token cannot call are left out. Procedures are told by their indentation in the client's type.
 */
export function finish(declarations: string): { text: string; procedures: Documented[] } {
  const procedures: Documented[] = []
  const inlined = declarations
    .replace(/^import type .* from '\.\.\/.*;\n/gm, '')
    .replaceAll('ServiceErrorCode', errorCodes.map((name) => `'${name}'`).join(' | '))
  const text = inlined.replace(/^ {4}(\w+): \{\n((?: {8}.*\n)*) {4}\};\n/gm, (_, router: string, members: string) => {
    const kept = members.replace(/^ {8}(\w+): \{\n(?: {9,}.*\n)* {8}\};\n/gm, (whole, procedure: string) => {
      const name = `${router}.${procedure}`
      const sentence = sentenceOf(name)
      if (sentence === undefined) return ''
      procedures.push({ name, sentence })
      return `        /** ${sentence} */\n${whole}`
    })
    return kept && `    ${router}: {\n${kept}    };\n`
  })
  return { text, procedures }
}
