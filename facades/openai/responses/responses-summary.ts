/** Marks the summaries of this service; the content is opaque to clients, which send it back unchanged. */
const PREFIX = 'svc.summary.'

/** Asks the model for the summary that replaces the conversation. */
export const SUMMARY_REQUEST =
  'The conversation has to become shorter. Write a summary that replaces it, for yourself to go on with: the request of ' +
  'the user, what was decided and done, files and results that matter, and what comes next. Write only the summary.'

export const isOwnSummary = (content: string | null | undefined): boolean => content?.startsWith(PREFIX) ?? false

const toSummaryContent = (text: string): string => PREFIX + Buffer.from(text).toString('base64url')

export const readSummary = (content: string | null | undefined): string =>
  `A summary of the conversation so far:\n\n${Buffer.from((content ?? '').slice(PREFIX.length), 'base64url')}`

export const toSummaryItem = (id: string, text: string) => ({
  id,
  type: 'compaction',
  encrypted_content: toSummaryContent(text),
})
