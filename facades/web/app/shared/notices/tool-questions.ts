import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { api, queryClient } from '../api/client.ts'
import { followChanges } from '../live.ts'

const queryKey = ['tool-questions']

export type ToolQuestion = Awaited<ReturnType<typeof api.mcpGateway.questions.query>>[number]
export type ToolAnswer = Parameters<typeof api.mcpGateway.answer.mutate>[0]['allow']

const refresh = () => queryClient.invalidateQueries({ queryKey })

/** Returns the calls of tools that the person's programs wait with, and follows what programs ask meanwhile. */
export function useToolQuestions() {
  useEffect(
    () =>
      followChanges((change) => {
        if (!change || change.kind.startsWith('tool-questions.')) void refresh()
      }),
    [],
  )
  return useQuery({ queryKey, queryFn: ({ signal }) => api.mcpGateway.questions.query(undefined, { signal }) })
}

export const answerToolQuestion = (id: string, allow: ToolAnswer) =>
  api.mcpGateway.answer.mutate({ id, allow }).finally(refresh)
