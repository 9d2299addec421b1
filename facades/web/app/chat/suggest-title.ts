import { api } from '../shared/api/client.ts'
import type { ConversationKey } from '../shared/crypto/conversation-key.ts'
import { openMessage } from './message-content.ts'
import { runTask, type Task } from './tasks.ts'

/** What is read of a conversation to name it. */
const MOST_MESSAGES = 6
const MOST_TEXT = 2000
/** Of a name. */
const MOST_TITLE = 120

/** Has a model name a conversation by what was said in it. */
export async function suggestTitle(key: ConversationKey, slug: string, task: Task): Promise<string> {
  const { data } = await api.conversations.messages.query({ slug, page: { size: MOST_MESSAGES } })
  const opened = await Promise.all(data.map((message) => openMessage(key, message)))
  const said = opened.map(({ role, answer }) => `${role}: ${answer.text.slice(0, MOST_TEXT)}`).join('\n\n')
  const title = await runTask(task, [{ role: 'user', content: [{ type: 'text', text: said }] }])
  return title.replace(/^["'«„]|["'»“.]$/g, '').slice(0, MOST_TITLE)
}
