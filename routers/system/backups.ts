import { z } from 'zod'
import { host, router } from '../core/trpc.ts'

const place = z.strictObject({
  /** An absolute path on the host. */
  folder: z.string().min(1).max(4096),
})

/** Copies of the whole installation. They are restored where no service runs yet, so not by a procedure. */
export const backupsRouter = router({
  create: host.input(place).mutation(({ ctx, input }) => ctx.services.backups.create(input.folder)),

  verify: host.input(place).query(({ ctx, input }) => ctx.services.backups.verify(input.folder)),
})
