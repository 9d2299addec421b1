/** A value that a prompt asks for. */
export interface PromptVariable {
  name: string
  /** The values to choose from; empty if any may be entered. */
  choices: readonly string[]
}

/** A variable such as `{{topic}}` or `{{tone: formal, friendly}}`. */
const VARIABLE = /\{\{\s*([^{}:\n]{1,60}?)\s*(?::([^{}\n]{1,500}))?\}\}/g

/** The variable that becomes the date. */
const DATE = 'date'

/** Lists the variables of a prompt that a person fills in, each once. */
export function listVariables(text: string): PromptVariable[] {
  const variables = new Map<string, PromptVariable>()
  for (const [, name = '', choices = ''] of text.matchAll(VARIABLE)) {
    if (name === DATE || variables.has(name)) continue
    const words = choices.split(',').map((choice) => choice.trim())
    variables.set(name, { name, choices: words.filter((choice) => choice !== '') })
  }
  return [...variables.values()]
}

/** Puts values in place of the variables, and the date in place of `{{date}}`. A variable without a value stays. */
export const fillPrompt = (text: string, values: ReadonlyMap<string, string>, date: string): string =>
  text.replace(VARIABLE, (whole, name: string) => (name === DATE ? date : (values.get(name) ?? whole)))

/** Returns what is typed after a `/` at the beginning of the line before the caret; undefined if there is none. */
export const findTypedPrompt = (before: string): string | undefined => /(?:^|\n)\/([^\n/]{0,60})$/.exec(before)?.[1]
