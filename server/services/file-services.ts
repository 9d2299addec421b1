import type { FileServices } from '../../routers/core/services.ts'
import type { FileStore } from '../../routers/ports/files/file-store.ts'
import { EXPORTS, KNOWLEDGE, SHARED_COPIES } from '../../routers/ports/files/storage.ts'
import type { TextExtractor } from '../../routers/ports/files/text-extractor.ts'
import type { BackupParts } from '../backup/create.ts'
import type { ArchiveParts } from '../personal-data/archive.ts'
import { createFileStore } from '../stores/file-store.ts'
import { createSealedStorage } from '../stores/sealed-storage.ts'

interface FileServiceOptions {
  attachments: FileStore
  backup: BackupParts
  textExtractor: TextExtractor
  /** Returns the parts of personal archives, which exist only after these services. */
  findArchiveParts(): ArchiveParts
}

/** Creates the stores of files, and the services that make archives of them. */
export function createFileServices(options: FileServiceOptions): FileServices {
  const { attachments, backup, textExtractor, findArchiveParts } = options
  const { vault, blobs } = backup
  return {
    attachments,
    knowledge: createFileStore(vault, blobs, KNOWLEDGE),
    sharedCopies: createFileStore(vault, blobs, SHARED_COPIES),
    exports: createFileStore(vault, blobs, EXPORTS),
    storage: createSealedStorage(vault, blobs),
    textExtractor,
    personArchive: createPersonArchive(findArchiveParts),
    backups: createBackupService(backup),
  }
}

/** Creates the backup service, which loads its code at the first call. */
const createBackupService = (parts: BackupParts): FileServices['backups'] => ({
  create: async (folder) => (await import('../backup/create.ts')).createBackup(parts, folder),
  async verify(folder) {
    const { summarize, verifyBackup } = await import('../backup/archive.ts')
    return summarize(await verifyBackup(folder, parts))
  },
})

/** Creates the writer of personal data archives, which loads its code at the first call. */
const createPersonArchive = (findParts: () => ArchiveParts): FileServices['personArchive'] =>
  async function* (userId, signal) {
    const { writeArchive } = await import('../personal-data/archive.ts')
    yield* writeArchive(findParts(), userId, signal)
  }
