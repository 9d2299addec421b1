import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { z } from 'zod'
import { findAppToConnect } from '../../../entities/apps/ext-app.sql.ts'
import { isSigned } from '../../apps/logo-path.ts'
import { FileContent } from '../../core/file-content.ts'
import { consumeRateLimit } from '../../core/load/rate-limit.ts'
import { Problem } from '../../core/problems.ts'
import { about, router, sessionUser } from '../../core/trpc.ts'
import { resourceId } from '../../resource/ids.ts'
import { imageAt } from './picture.ts'

const signed = z.strictObject({
  id: resourceId,
  expires: z.string().regex(/^\d{1,12}$/),
  signature: z.string().max(500),
})

/** Logos of external apps, by addresses that the service signed: no app learns who looks at its page of consent. */
export const appLogosRouter = router({
  read: sessionUser
    .meta({ ...about('Read the logo of an external app that asks the caller.'), file: 'out' })
    .input(signed)
    .query(async ({ ctx, input }) => {
      const { linkPreviewsPerMinute } = ctx.services.settings
      await consumeRateLimit(ctx, [`link-previews:${ctx.caller.person.id}`], linkPreviewsPerMinute)
      const [app] = isSigned(ctx, input) ? await ctx.services.sql(findAppToConnect, [Number(input.id)]) : []
      const image = app?.logoUrl ? await imageAt(ctx, app.logoUrl) : null
      if (!image) throw new Problem('not_found', { detail: 'There is no such logo.' })
      const tag = hash('sha1', image, 'base64url')
      return new FileContent({ name: 'logo.webp', mime: 'image/webp', bytes: image.length, tag }, (range) =>
        Readable.from([range ? image.subarray(range.start, range.end + 1) : image]),
      )
    }),
})
