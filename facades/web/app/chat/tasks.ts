import { useQuery } from '@tanstack/react-query'
import { type AiRequest, api } from '../shared/api/client.ts'

/** A small task for a model that the administrator has chosen for it. */
export interface Task {
  modelId: string
  prompt: string
}

type TaskName = 'title_generation' | 'prompt_improvement'

const ALL = { page: { size: 200 } }

/** The model and the prompt of a task; undefined where no model does it. */
export function useTask(name: TaskName): Task | undefined {
  const { data } = useQuery({
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
  const modelId = data?.models.find(({ modelType }) => modelType === name)?.modelId
  const prompt = data?.prompts.find(({ promptType }) => promptType === name)?.prompt
  return modelId && prompt ? { modelId, prompt } : undefined
}

/** Has a task done; returns what the model says. */
export async function runTask({ modelId, prompt }: Task, messages: AiRequest['messages']): Promise<string> {
  const { content } = await api.ai.complete.mutate({
    model: modelId,
    system: [{ type: 'text', text: prompt }],
    messages,
    optionalParameters: true,
  })
  return content
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('')
    .trim()
}
