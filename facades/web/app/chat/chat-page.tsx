import { useNavigate } from '@tanstack/react-router'
import { errorText } from '../shared/api/error-text.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { SidebarButton } from '../shared/ui/sidebar-button.tsx'
import { ask } from './ask.ts'
import { Composer } from './composer.tsx'
import { ConversationTitle } from './conversation-title.tsx'
import { createConversation } from './conversations.ts'
import { MessageList } from './message-list.tsx'
import { messagesOf, useMessages } from './messages.ts'
import { ModelPicker } from './model-picker.tsx'
import { useChosenModel, useModels } from './models.ts'
import { turns, useTurn } from './turn.ts'
import './chat.css'

/** A conversation, or the beginning of one. */
export const ChatPage = ({ slug }: { slug?: string }) => (slug === undefined ? <NewChat /> : <Chat slug={slug} />)

function NewChat() {
  const { conversationKey: key } = useSession()
  const navigate = useNavigate()
  const { data: models } = useModels()
  const { model, choose } = useChosenModel(models)
  const send = async (text: string) => {
    if (!model) return
    const { slug } = await createConversation(null)
    await ask({ slug, key, text, model, history: [] })
    await navigate({ to: '/chat/$slug', params: { slug }, replace: true })
  }
  return (
    <main id="main" className="chat">
      <header className="chat-head">
        <SidebarButton />
        <h1>{t('app.chat.new')}</h1>
        <ModelPicker models={models} model={model} choose={choose} />
      </header>
      <div className="empty">
        <p>{t('app.chat.empty')}</p>
      </div>
      <Composer slug={undefined} canSend={model !== undefined} send={send} />
    </main>
  )
}

function Chat({ slug }: { slug: string }) {
  const { conversationKey: key } = useSession()
  const { data: models } = useModels()
  const { model, choose } = useChosenModel(models)
  const query = useMessages(key, slug)
  const turn = useTurn(slug)
  const messages = messagesOf(query.data)
  const send = async (text: string) => {
    if (model) await ask({ slug, key, text, model, history: messages })
  }
  return (
    <main id="main" className="chat">
      <header className="chat-head">
        <SidebarButton />
        <ConversationTitle slug={slug} />
        <ModelPicker models={models} model={model} choose={choose} />
      </header>
      {query.error && (
        <p className="notice wrong" role="alert">
          {errorText(query.error)}
        </p>
      )}
      <MessageList
        messages={messages}
        turn={turn}
        models={models ?? []}
        hasEarlier={query.hasNextPage}
        loadEarlier={() => void query.fetchNextPage()}
      />
      <Composer
        slug={slug}
        canSend={model !== undefined && query.isSuccess}
        isAnswering={turns.isAnswering(slug)}
        send={send}
        stop={() => turns.stop(slug)}
      />
    </main>
  )
}
