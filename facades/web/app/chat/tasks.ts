import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, queryClient } from '../shared/api/client.ts'
import type { AiRequest } from '../shared/api/types.ts'
import { findBaseId } from '../shared/models/assistants.ts'

/** A small task, such as naming a conversation, for a model that the administrator has chosen. */
export interface Task {
  modelId: string
  prompt: string
}

type TaskName = 'title_generation' | 'prompt_improvement' | 'summary'

const ALL = { page: { size: 200 } }

const tasksQuery = queryOptions({
  queryKey: ['tasks'],
  staleTime: Number.POSITIVE_INFINITY,
  queryFn: async ({ signal }) => {
    const [models, prompts] = await Promise.all([
      api.systemModels.list.query(ALL, { signal }),
      api.systemPrompts.list.query(ALL, { signal }),
    ])
    return { models: models.items, prompts: prompts.items }
  },
})

type Tasks = Awaited<ReturnType<NonNullable<typeof tasksQuery.queryFn>>>

function findTask(tasks: Tasks | undefined, name: TaskName, otherModelId?: string): Task | undefined {
  const modelId = tasks?.models.find(({ modelType }) => modelType === name)?.modelId ?? otherModelId
  const prompt = tasks?.prompts.find(({ promptType }) => promptType === name)?.prompt
  return modelId && prompt ? { modelId, prompt } : undefined
}

/** Returns the model and the prompt of a task; undefined if it is not set up. */
export const useTask = (name: TaskName): Task | undefined => findTask(useQuery(tasksQuery).data, name)

/** Reads a task; `modelId`, or the model of that assistant, is asked if the house has chosen no model for it. */
export const readTask = async (name: TaskName, modelId: string): Promise<Task | undefined> =>
  findTask(await queryClient.fetchQuery(tasksQuery), name, findBaseId(modelId))

/** Asks the model of a task, without tools, and returns its whole answer. */
export const askForTask = ({ modelId, prompt }: Task, messages: AiRequest['messages'], signal?: AbortSignal) =>
  api.ai.complete.mutate(
    {
      model: modelId,
      system: [{ type: 'text', text: prompt }],
      messages,
      modelTools: [],
      optionalParameters: true,
    },
    signal && { signal },
  )

/** Runs a task and returns the text of the answer. */
export async function runTask(task: Task, messages: AiRequest['messages']): Promise<string> {
  const { content } = await askForTask(task, messages)
  return content
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('')
    .trim()
}
