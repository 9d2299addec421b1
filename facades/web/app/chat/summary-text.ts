/** What a model has written, and why it ended. */
interface WrittenSummary {
  content: readonly { type: string; text?: string }[]
  finish: string
}

const thoughts = /<(think|thinking)>[\s\S]*?(?:<\/\1>|$)/gi

/** Reads a summary: undefined if the model has only thought, or was cut before the end. */
export function readSummary({ content, finish }: WrittenSummary): string | undefined {
  const written = content.map(({ type, text = '' }) => (type === 'text' ? text : '')).join('')
  const text = written.replace(thoughts, '').trim()
  return finish === 'stop' && text !== '' ? text : undefined
}
