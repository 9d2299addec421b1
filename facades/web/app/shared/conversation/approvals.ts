import { api } from '../api/client.ts'

/** The ids of the approval requests that the person has refused on this page. */
const refused = new Set<string>()

/** Approves or refuses a tool call. */
export async function answerApproval(id: string, answer: { allow: boolean; remember: boolean }): Promise<void> {
  if (!answer.allow) refused.add(id)
  await api.ai.approve.mutate({ id, ...answer })
}

export const wasRefused = (question: string | undefined): boolean => question !== undefined && refused.has(question)
