import { api } from '../api/client.ts'

/** What the person has said no to on this page, by the ids of the questions. */
const refused = new Set<string>()

/** Answers the question whether a tool may be called. */
export async function answerApproval(id: string, answer: { allow: boolean; remember: boolean }): Promise<void> {
  if (!answer.allow) refused.add(id)
  await api.ai.approve.mutate({ id, ...answer })
}

export const wasRefused = (question: string | undefined): boolean => question !== undefined && refused.has(question)
