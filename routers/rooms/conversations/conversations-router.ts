import { z } from 'zod'
import { about, host, router, userWith, withBodySize } from '../../core/trpc.ts'
import { changeMessage, listMessages, messagesInput, removeMessage, sendMessage } from './conversation-messages.ts'
import {
  changeConversation,
  changeFolder,
  conversationChangeInput,
  createConversation,
  deleteDiscardedConversations,
  discardOwnConversation,
  folderChangeInput,
  listFolders,
  listInput,
  listOwnConversations,
  newConversationInput,
  organizationInput,
  organizeOwnConversation,
  readConversation,
  readQuota,
  removeConversation,
  restoreOwnConversation,
  slug,
} from './conversations.ts'
import { conversationImportInput, importConversation } from './import-conversation.ts'
import { messageChangeInput, messageSelector, newMessageInput } from './message-input.ts'

/** Procedures for private conversations with models, which only their owner can read. */
export const conversationsRouter = router({
  list: userWith('read')
    .meta(about("List the caller's private conversations, those that were changed last first."))
    .input(listInput)
    .query(({ ctx, input }) => listOwnConversations(ctx, input)),

  get: userWith('read')
    .meta(about('Read a private conversation, without its messages.'))
    .input(z.strictObject({ slug }))
    .query(({ ctx, input }) => readConversation(ctx, input.slug)),

  create: userWith('write')
    .meta({ ...about('Create a private conversation.'), ...withBodySize('long text') })
    .input(newConversationInput)
    .mutation(({ ctx, input }) => createConversation(ctx, input)),

  import: userWith('write')
    .meta({
      ...about('Store a private conversation from elsewhere, with its times, once.'),
      ...withBodySize('conversation'),
    })
    .input(conversationImportInput)
    .mutation(({ ctx, input }) => importConversation(ctx, input)),

  quota: userWith('read')
    .meta(about("Tell how much the caller's private conversations take, and may take."))
    .query(({ ctx }) => readQuota(ctx)),

  update: userWith('write')
    .meta({ ...about('Rename a private conversation, or change its system prompt.'), ...withBodySize('long text') })
    .input(conversationChangeInput)
    .mutation(({ ctx, input }) => changeConversation(ctx, input)),

  delete: userWith('write')
    .meta(about('Delete a private conversation with its messages and their files.'))
    .input(z.strictObject({ slug }))
    .mutation(({ ctx, input }) => removeConversation(ctx, input.slug)),

  organize: userWith('write')
    .meta(about('Pin a private conversation, or put it in a folder.'))
    .input(organizationInput)
    .mutation(({ ctx, input }) => organizeOwnConversation(ctx, input)),

  folders: userWith('read')
    .meta(about("List the folders of the caller's private conversations."))
    .query(({ ctx }) => listFolders(ctx)),

  changeFolder: userWith('write')
    .meta(about('Rename a folder of private conversations, or dissolve it.'))
    .input(folderChangeInput)
    .mutation(({ ctx, input }) => changeFolder(ctx, input)),

  discard: userWith('write')
    .meta(about('Throw a private conversation away, so that it is deleted soon and can be restored before.'))
    .input(z.strictObject({ slug }))
    .mutation(({ ctx, input }) => discardOwnConversation(ctx, input.slug)),

  restore: userWith('write')
    .meta(about('Take a private conversation back that was thrown away.'))
    .input(z.strictObject({ slug }))
    .mutation(({ ctx, input }) => restoreOwnConversation(ctx, input.slug)),

  deleteDiscarded: host.mutation(({ ctx }) => deleteDiscardedConversations(ctx)),

  messages: userWith('read')
    .meta(about('List the last messages of a private conversation, or those before one of them.'))
    .input(messagesInput)
    .query(({ ctx, input }) => listMessages(ctx, input)),

  sendMessage: userWith('write')
    .meta({ ...about('Add a message to a private conversation.'), ...withBodySize('long text') })
    .input(newMessageInput)
    .mutation(({ ctx, input }) => sendMessage(ctx, input)),

  updateMessage: userWith('write')
    .meta({ ...about('Change a message of a private conversation.'), ...withBodySize('long text') })
    .input(messageChangeInput)
    .mutation(({ ctx, input }) => changeMessage(ctx, input)),

  deleteMessage: userWith('write')
    .meta(about('Delete a message of a private conversation with its files.'))
    .input(messageSelector)
    .mutation(({ ctx, input }) => removeMessage(ctx, input)),
})
