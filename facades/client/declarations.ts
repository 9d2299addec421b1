import { problemNames } from '../../routers/core/problems.ts'
import { sentenceFor } from '../../routers/resource/words.ts'
import { factsOf, openTo, procedureAt } from '../http/procedures.ts'

/** What to say of a procedure; nothing where no token is good for it, because the client has nothing else. */
function sentenceOf(name: string): string | undefined {
  const procedure = procedureAt(name)
  if (!procedure) throw new Error(`There is no procedure ${name}.`)
  const { audience, about, exposes } = factsOf(procedure).meta
  if (audience.callers === 'the host' || audience.sessionOnly) return undefined
  const sentence = about ?? (exposes && sentenceFor(exposes))
  if (!sentence) throw new Error(`Nobody said what ${name} does.`)
  return `${sentence} ${openTo(audience)}`
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
  const spelled = declarations
    .replace(/^import type .* from '\.\.\/.*;\n/gm, '')
    .replaceAll('ProblemName', problemNames.map((name) => `'${name}'`).join(' | '))
  const text = spelled.replace(/^ {4}(\w+): \{\n((?: {8}.*\n)*) {4}\};\n/gm, (_, router: string, members: string) => {
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
