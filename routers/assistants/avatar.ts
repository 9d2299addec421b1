import { findAssistant } from '../../entities/assistants/assistant.sql.ts'
import { replacePicture } from '../identity/pictures/pictures.ts'
import {
  assertNewest,
  changeAnswering,
  createUnknownAssistant,
  lockEditable,
  type PersonContext,
  readVersionOf,
  type VersionRef,
} from './assistant-changes.ts'
import { addVersion } from './change-assistant.ts'

interface NewAvatar {
  handle: string
  /** In base64; null removes the picture. */
  avatar: string | null
  publish: boolean
  basedOn?: number | undefined
}

/**
 * Saves a version that differs from the newest one by its picture. Earlier versions keep theirs, so that the picture, too, is what was
 * published.
 */
export async function setAvatar(
  ctx: PersonContext,
  { handle, avatar: image, publish, basedOn }: NewAvatar,
): Promise<VersionRef> {
  const { id: person, groups } = ctx.caller.person
  // The permission is checked before the picture is decoded.
  const [found] = await ctx.services.sql(findAssistant, [person, groups, handle, false])
  if (!found?.mayEdit) throw createUnknownAssistant()
  const write = (avatar: string | null) =>
    changeAnswering(ctx, async (em) => {
      const assistant = await lockEditable(em, person, handle)
      // With a picture, nobody publishes a text that they have not seen.
      assertNewest(assistant, basedOn)
      const before = await readVersionOf(ctx, em, assistant, assistant.latest)
      const change = { avatar: avatar !== null }
      return addVersion(ctx, em, { assistant, before, after: { ...before, avatar }, publish, change })
    })
  return replacePicture(ctx, { before: null, image, write })
}
