import { takes } from '../../core/body-size.ts'
import { about, host, router, userWith } from '../../core/trpc.ts'
import { rowAction } from '../../verbs/action.ts'
import { rooms } from '../rooms.ts'
import { askInRoom } from './ask-in-room.ts'
import {
  cancelAnswer,
  deleteOldRows,
  disclosureChoice,
  disclosuresInput,
  endLostAnswers,
  listOwnDisclosures,
} from './disclosures.ts'
import { roomQuestion } from './room-question.ts'

/** Models in rooms: they are given what a member discloses, and their answers are encrypted for the room. */
export const roomAiRouter = router({
  ask: rowAction(rooms, 'ask', userWith('ai'))
    .meta({
      ...about('Have a model answer in a room, from what the caller discloses to it. The answer comes as a message.'),
      ...takes('AI request with files'),
    })
    .input(roomQuestion)
    .mutation(({ ctx, input }) => askInRoom(ctx, input)),

  cancelAnswer: rowAction(rooms, 'cancel-answer', userWith('ai'))
    .meta(about('Cancel an answer that a model is giving in a room.'))
    .input(disclosureChoice)
    .mutation(({ ctx, input }) => cancelAnswer(ctx, input)),

  disclosures: rowAction(rooms, 'disclosures', userWith('read'))
    .meta(about('List what members of a room have disclosed to models: ids, sizes and hashes, and never a text.'))
    .input(disclosuresInput)
    .query(({ ctx, input }) => listOwnDisclosures(ctx, input)),

  endLostAnswers: host.mutation(({ ctx }) => endLostAnswers(ctx)),

  deleteOldDisclosures: host.mutation(({ ctx }) => deleteOldRows(ctx)),
})
