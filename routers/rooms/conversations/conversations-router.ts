import { z } from 'zod'
import { about, host, router, userWith, withBodySize } from '../../core/trpc.ts'
import { changeMessage, listMessages, messagesInput, removeMessage, sendMessage } from './conversation-messages.ts'
import {
  changeChatSettings,
  changeConversation,
  changeFolder,
  chatSettingsInput,
  conversationChangeInput,
  createConversation,
  deleteDiscardedConversations,
  folderChangeInput,
  listFolders,
  listInput,
  listOwnConversations,
  newConversationInput,
  organizationInput,
  organizeOwnConversation,
  readChatSettings,
  readConversation,
  readQuota,
  removeConversation,
  slug,
} from './conversations.ts'
import { conversationImportInput, importConversation } from './import-conversation.ts'
import { messageChangeInput, messageSelector, newMessageInput } from './message-input.ts'
import {
  discardConversation,
  discardSelected,
  organizeSelected,
  restoreConversation,
  restoreSelected,
  selectionChangeInput,
  selectionInput,
} from './selected-conversations.ts'

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
      ...about('Import a private conversation with its times.'),
      ...withBodySize('conversation'),
    })
    .input(conversationImportInput)
    .mutation(({ ctx, input }) => importConversation(ctx, input)),

  quota: userWith('read')
    .meta(about("Read the storage that the caller's private conversations use, and its limit, in bytes."))
    .query(({ ctx }) => readQuota(ctx)),

  update: userWith('write')
    .meta({
      ...about('Rename a private conversation, or change its system prompt or options.'),
      ...withBodySize('long text'),
    })
    .input(conversationChangeInput)
    .mutation(({ ctx, input }) => changeConversation(ctx, input)),

  settings: userWith('read')
    .meta(about("Read the caller's encrypted settings for all private conversations."))
    .query(({ ctx }) => readChatSettings(ctx)),

  changeSettings: userWith('write')
    .meta({
      ...about("Replace the caller's encrypted settings for all private conversations."),
      ...withBodySize('long text'),
    })
    .input(chatSettingsInput)
    .mutation(({ ctx, input }) => changeChatSettings(ctx, input)),

  delete: userWith('write')
    .meta(about('Delete a private conversation with its messages and their files.'))
    .input(z.strictObject({ slug }))
    .mutation(({ ctx, input }) => removeConversation(ctx, input.slug)),

  organize: userWith('write')
    .meta(about('Pin or archive a private conversation, or put it in a folder.'))
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
    .meta(about('Move a private conversation to the trash, from which it can be restored until it is deleted.'))
    .input(z.strictObject({ slug }))
    .mutation(({ ctx, input }) => discardConversation(ctx, input.slug)),

  restore: userWith('write')
    .meta(about('Restore a private conversation from the trash.'))
    .input(z.strictObject({ slug }))
    .mutation(({ ctx, input }) => restoreConversation(ctx, input.slug)),

  organizeSelected: userWith('write')
    .meta(about('Archive private conversations, or put them in a folder.'))
    .input(selectionChangeInput)
    .mutation(({ ctx, input }) => organizeSelected(ctx, input)),

  discardSelected: userWith('write')
    .meta(about('Move private conversations to the trash, from which they can be restored until they are deleted.'))
    .input(selectionInput)
    .mutation(({ ctx, input }) => discardSelected(ctx, input.slugs)),

  restoreSelected: userWith('write')
    .meta(about('Restore private conversations from the trash.'))
    .input(selectionInput)
    .mutation(({ ctx, input }) => restoreSelected(ctx, input.slugs)),

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
