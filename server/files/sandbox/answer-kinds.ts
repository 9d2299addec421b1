/** What services that convert files answer with: an archive of Markdown files, or JSON in one of two shapes. */
const answerKinds = ['markdown-zip', 'docling-json', 'kreuzberg-json'] as const
export type AnswerKind = (typeof answerKinds)[number]

export const isAnswer = (kind: string): kind is AnswerKind => (answerKinds as readonly string[]).includes(kind)
