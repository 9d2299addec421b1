import { useQuery } from '@tanstack/react-query'
import { type AiRequest, api } from '../shared/api/client.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { openMessage } from './message-content.ts'

/** A small task, such as naming a conversation, for a model that the administrator has chosen. */
interface Task {
  modelId: string
  prompt: string
}

type TaskName = 'title_generation' | 'prompt_improvement'

const ALL = { page: { size: 200 } }

/** Returns the model and the prompt of a task; undefined if it is not set up. */
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

/** Runs a task and returns the text of the answer. */
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

/** The part of a conversation that a title is made from. */
const MAX_MESSAGES = 6
const MAX_TEXT = 2000
const MAX_TITLE = 120

/** Asks a model for a title of the conversation. */
export async function suggestTitle(key: ConversationKey, slug: string, task: Task): Promise<string> {
  const { data } = await api.conversations.messages.query({ slug, page: { size: MAX_MESSAGES } })
  const messages = await Promise.all(data.map((message) => openMessage(key, message)))
  const transcript = messages.map(({ role, answer }) => `${role}: ${answer.text.slice(0, MAX_TEXT)}`).join('\n\n')
  const title = await runTask(task, [{ role: 'user', content: [{ type: 'text', text: transcript }] }])
  return title.replace(/^["'«„]|["'»“.]$/g, '').slice(0, MAX_TITLE)
}
