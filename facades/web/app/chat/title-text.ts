import { parseRecord } from '../shared/local-store.ts'
import { stripMarkdown } from '../shared/text/excerpt.ts'

const MAX_TITLE = 120

/** Matches words that models write before a title. */
const announcement = /^(?:(?:here is|here's|hier ist)[^:\n]*:|(?:chat )?(?:title|titel|name|thema|subject)\s*:)\s*/iu

const thoughts = /<(think|thinking)>[\s\S]*?<\/\1>/gi
const quotes = /^["'«»„“”‚‘’「『]+|["'«»„“”‚‘’」』]+$/gu

/** Returns the title that a model has given, without what it wraps around it; empty if there is none. */
export function cleanTitle(answer: string): string {
  const text = answer.replace(thoughts, '').trim()
  const lines = text
    .replace(/^```\w*$/gm, '')
    .split('\n')
    .map(cleanLine)
    .filter((line) => line !== '')
  const title = readJsonTitle(text) ?? lines[0] ?? ''
  return Array.from(title).slice(0, MAX_TITLE).join('').trim()
}

const cleanLine = (line: string): string =>
  stripMarkdown(line).trim().replace(announcement, '').replace(quotes, '').replace(/\.$/, '').replace(quotes, '').trim()

/** Reads the title of an answer that is JSON. */
function readJsonTitle(text: string): string | undefined {
  const json = text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)
  const { title } = (json && parseRecord(json)) || {}
  return typeof title === 'string' ? cleanLine(title) : undefined
}

/** Adds a number to a title that other chats have. */
export function numberTitle(title: string, others: ReadonlySet<string>): string {
  if (!others.has(title)) return title
  let number = 2
  while (others.has(`${title} (${number})`)) number += 1
  return `${title} (${number})`
}
